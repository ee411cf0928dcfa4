/* dcc_standalone.h - what --standalone puts after the runtime's headers and
 * before its sources: several files that have the runtime within them may be
 * linked into one program, which then has it once. C++.
 */
#ifndef DCC_STANDALONE_H
#define DCC_STANDALONE_H

#define DCC_ONCE(name) extern __attribute__((weak)) decltype(name) name

DCC_ONCE(dcc_bfloat_to_float);
DCC_ONCE(dcc_check_head);
DCC_ONCE(dcc_error);
DCC_ONCE(dcc_fail);
DCC_ONCE(dcc_float_to_bfloat);
DCC_ONCE(dcc_float_to_half);
DCC_ONCE(dcc_half_to_float);
DCC_ONCE(dcc_main);
DCC_ONCE(dcc_model_create);
DCC_ONCE(dcc_model_create_options);
DCC_ONCE(dcc_model_create_shared);
DCC_ONCE(dcc_model_create_with);
DCC_ONCE(dcc_model_describe);
DCC_ONCE(dcc_model_destroy);
DCC_ONCE(dcc_model_notes);
DCC_ONCE(dcc_model_reset);
DCC_ONCE(dcc_model_run);
DCC_ONCE(dcc_model_run_size);
DCC_ONCE(dcc_model_run_steps);
DCC_ONCE(dcc_model_sizes);
DCC_ONCE(dcc_model_status);
DCC_ONCE(dcc_model_update);
DCC_ONCE(dcc_model_warm);
DCC_ONCE(dcc_model_warm_size);
DCC_ONCE(dcc_st_at);
DCC_ONCE(dcc_st_check);
DCC_ONCE(dcc_st_close);
DCC_ONCE(dcc_st_count);
DCC_ONCE(dcc_st_dtype_name);
DCC_ONCE(dcc_st_dtype_of);
DCC_ONCE(dcc_st_find);
DCC_ONCE(dcc_st_open);
DCC_ONCE(dcc_st_parse);
DCC_ONCE(dcc_st_path);
DCC_ONCE(dcc_st_read);
DCC_ONCE(dcc_st_read_part);
DCC_ONCE(dcc_st_shape_text);
DCC_ONCE(dcc_st_write);
DCC_ONCE(dcc_tensor_bytes);
DCC_ONCE(dcc_tma_encode);
DCC_ONCE(dcc_tma_encode_im2col);
DCC_ONCE(dcc_type_name);
DCC_ONCE(dcc_type_size);
DCC_ONCE(dcc_write_text);
DCC_ONCE(rt_after_run);
DCC_ONCE(rt_arena_bytes);
DCC_ONCE(rt_before_run);
DCC_ONCE(rt_check_current);
DCC_ONCE(rt_check_desc);
DCC_ONCE(rt_check_names);
DCC_ONCE(rt_check_outputs);
DCC_ONCE(rt_check_run);
DCC_ONCE(rt_check_source);
DCC_ONCE(rt_copy_inputs);
DCC_ONCE(rt_copy_outputs);
DCC_ONCE(rt_count_runs);
DCC_ONCE(rt_cuda);
DCC_ONCE(rt_fill);
DCC_ONCE(rt_frame);
DCC_ONCE(rt_free_graphs);
DCC_ONCE(rt_free_sequence);
DCC_ONCE(rt_free_sizes);
DCC_ONCE(rt_give);
DCC_ONCE(rt_input_name);
DCC_ONCE(rt_load);
DCC_ONCE(rt_make_first_state);
DCC_ONCE(rt_make_sizes);
DCC_ONCE(rt_needs_first_state);
DCC_ONCE(rt_pinned_bytes);
DCC_ONCE(rt_place_sizes);
DCC_ONCE(rt_print_error);
DCC_ONCE(rt_profile);
DCC_ONCE(rt_read_feeds);
DCC_ONCE(rt_repeat);
DCC_ONCE(rt_settle_inputs);
DCC_ONCE(rt_size_of);
DCC_ONCE(rt_staging_bytes);
DCC_ONCE(rt_start);
DCC_ONCE(rt_step_error);
DCC_ONCE(rt_stop);
DCC_ONCE(rt_take);
DCC_ONCE(rt_trace);
DCC_ONCE(rt_transfer);
DCC_ONCE(rt_tune);
DCC_ONCE(rt_tune_reach);
DCC_ONCE(rt_write_outputs);
DCC_ONCE(rt_write_sequence);
DCC_ONCE(st_bad);
DCC_ONCE(st_blank);
DCC_ONCE(st_load_index);
DCC_ONCE(st_map);
DCC_ONCE(st_need);
DCC_ONCE(st_new);
DCC_ONCE(st_number);
DCC_ONCE(st_sort_names);
DCC_ONCE(st_string);
DCC_ONCE(st_take);

#undef DCC_ONCE

#endif
