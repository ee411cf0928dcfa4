/* The operators that import knows: from which operator set on, how shapes are
 * found, how it is written, which attributes. */
#include "import/emit.h"

#define MS "com.microsoft"
#define POOL                                                  \
    "auto_pad,kernel_shape,pads,strides,dilations,ceil_mode," \
    "count_include_pad,storage_order"
#define CONV "auto_pad,kernel_shape,pads,strides,dilations,group"
#define RECURRENT                                                \
    "direction,hidden_size,layout,activations,activation_alpha," \
    "activation_beta,input_forget,linear_before_reset,clip," \
    "output_sequence"
#define BROADCAST "axis,broadcast,consumed_inputs"
#define REDUCE "axes,keepdims,noop_with_empty_axes"
#define UNARY(name, since, text)                                           \
    {                                                                      \
        "", name, since, 0, infer_same, emit_text, text, "consumed_inputs" \
    }
#define BINARY(name)                                                  \
    {                                                                 \
        "", name, 1, 0, infer_broadcast, emit_binary, NULL, BROADCAST \
    }
#define COMPARE(name, since)                                            \
    {                                                                   \
        "", name, since, 0, infer_compare, emit_binary, NULL, BROADCAST \
    }
#define IN_PARTS(name, attrs)                     \
    {                                             \
        MS, name, 1, 0, NULL, NULL, NULL, attrs \
    }
#define REDUCTION(name)                                         \
    {                                                           \
        "", name, 1, 0, infer_reduce, emit_reduce, NULL, REDUCE \
    }
#define ACTIVATION(name, since, attrs)                         \
    {                                                          \
        "", name, since, 0, infer_same, emit_activation, NULL, \
            attrs ",consumed_inputs"                           \
    }

static const OpInfo ops[] = {
    UNARY("Relu", 1, "relu($0)"),
    UNARY("Sigmoid", 1, "sigmoid($0)"),
    UNARY("Tanh", 1, "tanh($0)"),
    UNARY("Exp", 1, "exp($0)"),
    UNARY("Log", 1, "log($0)"),
    UNARY("Sqrt", 1, "sqrt($0)"),
    UNARY("Abs", 1, "abs($0)"),
    UNARY("Neg", 1, "-$0"),
    UNARY("Floor", 1, "floor($0)"),
    UNARY("Ceil", 1, "ceil($0)"),
    UNARY("Round", 11, "rint($0)"),
    UNARY("Sign", 9, "sign($0)"),
    UNARY("Erf", 9, "erf($0)"),
    UNARY("Sin", 7, "sin($0)"),
    UNARY("Cos", 7, "cos($0)"),
    UNARY("Tan", 7, "tan($0)"),
    UNARY("Asin", 7, "asin($0)"),
    UNARY("Acos", 7, "acos($0)"),
    UNARY("Atan", 7, "atan($0)"),
    UNARY("Sinh", 9, "sinh($0)"),
    UNARY("Cosh", 9, "cosh($0)"),
    UNARY("Asinh", 9, "asinh($0)"),
    UNARY("Acosh", 9, "acosh($0)"),
    UNARY("Atanh", 9, "atanh($0)"),
    UNARY("Softplus", 1, "softplus($0)"),
    UNARY("Softsign", 1, "softsign($0)"),
    UNARY("HardSwish", 14, "hard_swish($0)"),
    UNARY("Mish", 18, "mish($0)"),
    UNARY("Not", 1, "!$0"),
    {"", "Reciprocal", 1, 0, infer_same, emit_reciprocal, NULL,
     "consumed_inputs"},
    {"", "IsNaN", 9, 0, infer_test, emit_is_nan, NULL, NULL},
    {"", "IsInf", 10, 0, infer_test, emit_is_inf, NULL,
     "detect_positive,detect_negative"},
    {"", "PRelu", 1, 0, infer_same, emit_prelu, NULL, "consumed_inputs"},
    ACTIVATION("LeakyRelu", 1, "alpha"),
    ACTIVATION("Elu", 1, "alpha"),
    ACTIVATION("Celu", 12, "alpha"),
    ACTIVATION("Selu", 1, "alpha,gamma"),
    ACTIVATION("HardSigmoid", 1, "alpha,beta"),
    ACTIVATION("ThresholdedRelu", 10, "alpha"),
    ACTIVATION("Shrink", 9, "lambd,bias"),
    ACTIVATION("Swish", 24, "alpha"),
    {"", "Gelu", 20, 0, infer_same, emit_gelu, NULL, "approximate"},
    {"", "Clip", 1, 0, infer_same, emit_clip, NULL, "min,max,consumed_inputs"},
    BINARY("Add"),
    BINARY("Sub"),
    BINARY("Mul"),
    {"", "Div", 1, 0, infer_broadcast, emit_div, NULL, BROADCAST},
    {"", "Pow", 1, 0, infer_broadcast, emit_pow, NULL, BROADCAST},
    {"", "Mod", 10, 0, infer_broadcast, emit_mod, NULL, "fmod"},
    COMPARE("Equal", 1),
    COMPARE("Greater", 1),
    COMPARE("Less", 1),
    COMPARE("GreaterOrEqual", 12),
    COMPARE("LessOrEqual", 12),
    COMPARE("And", 1),
    COMPARE("Or", 1),
    COMPARE("Xor", 1),
    {"", "Sum", 1, 0, infer_broadcast, emit_variadic, NULL, "consumed_inputs"},
    {"", "Max", 1, 0, infer_broadcast, emit_variadic, NULL, "consumed_inputs"},
    {"", "Min", 1, 0, infer_broadcast, emit_variadic, NULL, "consumed_inputs"},
    {"", "Mean", 1, 0, infer_broadcast, emit_mean, NULL, "consumed_inputs"},
    {"", "Where", 9, 0, infer_where, emit_where, NULL, NULL},
    {"", "Cast", 6, 0, infer_cast, emit_cast, NULL, "to,saturate,round_mode"},
    {"", "CastLike", 15, 0, infer_cast, emit_cast, NULL, "saturate,round_mode"},
    {"", "Identity", 1, 0, infer_same, emit_alias, NULL, NULL},
    {"", "Dropout", 1, 0, infer_same, emit_dropout, NULL,
     "ratio,seed,is_test,consumed_inputs"},

    {"", "MatMul", 1, 0, infer_matmul, emit_matmul, NULL, NULL},
    {"", "Gemm", 1, 0, infer_gemm, emit_gemm, NULL,
     "alpha,beta,transA,transB,broadcast"},
    {"", "Einsum", 12, 0, infer_einsum, emit_einsum, NULL, "equation"},
    {"", "Conv", 1, 0, infer_conv, emit_conv, NULL, CONV},
    {"", "ConvTranspose", 1, 0, infer_conv_transpose, emit_conv_transpose, NULL,
     CONV ",output_padding,output_shape"},
    {"", "MaxPool", 1, 0, infer_pool, emit_max_pool, NULL, POOL},
    {"", "AveragePool", 1, 0, infer_pool, emit_average_pool, NULL, POOL},
    {"", "GlobalAveragePool", 1, 0, infer_global_pool, emit_global_pool, NULL,
     NULL},
    {"", "GlobalMaxPool", 1, 0, infer_global_pool, emit_global_pool, NULL,
     NULL},

    REDUCTION("ReduceSum"),
    REDUCTION("ReduceMean"),
    REDUCTION("ReduceMax"),
    REDUCTION("ReduceMin"),
    REDUCTION("ReduceProd"),
    REDUCTION("ReduceL1"),
    REDUCTION("ReduceL2"),
    REDUCTION("ReduceSumSquare"),
    REDUCTION("ReduceLogSum"),
    REDUCTION("ReduceLogSumExp"),
    {"", "ArgMax", 1, 0, infer_arg, emit_arg, NULL,
     "axis,keepdims,select_last_index"},
    {"", "ArgMin", 1, 0, infer_arg, emit_arg, NULL,
     "axis,keepdims,select_last_index"},
    {"", "Softmax", 1, 0, infer_same, emit_softmax, NULL, "axis"},
    {"", "LogSoftmax", 1, 0, infer_same, emit_softmax, NULL, "axis"},
    {"", "Hardmax", 1, 0, infer_same, emit_softmax, NULL, "axis"},
    {"", "CumSum", 11, 0, infer_same, emit_cumsum, NULL, "exclusive,reverse"},
    {"", "TopK", 1, 0, infer_topk, emit_topk, NULL, "axis,k,largest,sorted"},

    {"", "BatchNormalization", 1, 0, infer_batch_norm, emit_batch_norm, NULL,
     "epsilon,momentum,spatial,training_mode,is_test,consumed_inputs"},
    {"", "InstanceNormalization", 1, 0, infer_same, emit_instance_norm, NULL,
     "epsilon,consumed_inputs"},
    {"", "GroupNormalization", 18, 0, infer_same, emit_group_norm, NULL,
     "epsilon,num_groups,stash_type"},
    {"", "LayerNormalization", 1, 0, infer_norm, emit_layer_norm, NULL,
     "axis,epsilon,stash_type"},
    {"", "RMSNormalization", 1, 0, infer_norm, emit_layer_norm, NULL,
     "axis,epsilon,stash_type"},
    {"", "SimplifiedLayerNormalization", 1, 0, infer_norm, emit_layer_norm,
     NULL, "axis,epsilon,stash_type"},
    {"", "LpNormalization", 1, 0, infer_same, emit_lp_norm, NULL, "axis,p"},
    {"", "LRN", 1, 0, infer_same, emit_lrn, NULL, "alpha,beta,bias,size"},

    {"", "Reshape", 1, 0, infer_reshape, emit_reshape, NULL,
     "allowzero,shape,consumed_inputs"},
    {"", "Flatten", 1, 0, infer_flatten, emit_reshape, NULL, "axis"},
    {"", "Squeeze", 1, 0, infer_squeeze, emit_reshape, NULL, "axes"},
    {"", "Unsqueeze", 1, 0, infer_unsqueeze, emit_reshape, NULL, "axes"},
    {"", "Transpose", 1, 0, infer_transpose, emit_transpose, NULL, "perm"},
    {"", "Concat", 1, 0, infer_concat, emit_concat, NULL, "axis"},
    {"", "Split", 2, 0, infer_split, emit_split, NULL,
     "axis,split,num_outputs"},
    {"", "Slice", 1, 0, infer_slice, emit_slice, NULL, "axes,starts,ends"},
    {"", "Expand", 8, 0, infer_expand, emit_expand, NULL, NULL},
    {"", "Tile", 6, 0, infer_tile, emit_tile, NULL, NULL},
    {"", "Pad", 1, 0, infer_pad, emit_pad, NULL, "mode,pads,paddings,value"},
    {"", "DepthToSpace", 1, 0, infer_depth_to_space, emit_depth_to_space, NULL,
     "blocksize,mode"},
    {"", "SpaceToDepth", 1, 0, infer_space_to_depth, emit_space_to_depth, NULL,
     "blocksize,mode"},
    {"", "Resize", 10, 0, infer_resize, emit_resize, NULL,
     "antialias,axes,coordinate_transformation_mode,cubic_coeff_a,"
     "exclude_outside,extrapolation_value,keep_aspect_ratio_policy,mode,"
     "nearest_mode"},
    {"", "Upsample", 7, 0, infer_resize, emit_resize, NULL, "mode,scales"},
    {"", "GridSample", 16, 0, infer_grid_sample, emit_grid_sample, NULL,
     "align_corners,mode,padding_mode"},
    {"", "Gather", 1, 0, infer_gather, emit_gather, NULL, "axis"},
    {"", "GatherElements", 11, 0, infer_gather_elements, emit_gather_elements,
     NULL, "axis"},
    {"", "GatherND", 11, 0, infer_gather_nd, emit_gather_nd, NULL,
     "batch_dims"},
    {"", "ScatterElements", 11, 0, infer_scatter_elements,
     emit_scatter_elements, NULL, "axis,reduction"},
    {"", "Scatter", 9, 0, infer_scatter_elements, emit_scatter_elements, NULL,
     "axis"},
    {"", "ScatterND", 11, 0, infer_scatter_nd, emit_scatter_nd, NULL, "reduction"},
    {"", "OneHot", 9, 0, infer_one_hot, emit_one_hot, NULL, "axis"},
    {"", "EyeLike", 9, 0, infer_eye, emit_eye, NULL, "dtype,k"},
    {"", "Trilu", 14, 0, infer_same, emit_trilu, NULL, "upper"},
    {"", "Range", 11, 0, infer_range, emit_range, NULL, "stash_type"},
    {"", "Shape", 1, 0, infer_shape, emit_constant, NULL, "start,end"},
    {"", "Size", 1, 0, infer_size, emit_constant, NULL, NULL},
    {"", "Constant", 1, 0, infer_constant, emit_constant, NULL,
     "value,value_float,value_floats,value_int,value_ints"},
    {"", "ConstantOfShape", 9, 0, infer_constant_of_shape, emit_constant, NULL,
     "value"},
    {"", "NonZero", 9, 0, infer_nonzero, emit_constant, NULL, NULL},

    {"", "LSTM", 1, 0, infer_recurrent, emit_recurrent, NULL, RECURRENT},
    {"", "GRU", 1, 0, infer_recurrent, emit_recurrent, NULL, RECURRENT},
    {"", "RNN", 1, 0, infer_recurrent, emit_recurrent, NULL, RECURRENT},

    {"", "QuantizeLinear", 10, 0, infer_quantize, emit_quantize, NULL,
     "axis,saturate,block_size,output_dtype,precision"},
    {"", "DequantizeLinear", 10, 0, infer_quantize, emit_dequantize, NULL,
     "axis,block_size,output_dtype"},
    {"", "DynamicQuantizeLinear", 11, 0, infer_quantize, emit_dynamic_quantize,
     NULL, NULL},
    {"", "QLinearConv", 10, 0, infer_conv, emit_qlinear, NULL, CONV},
    {"", "QLinearMatMul", 10, 0, infer_qlinear_matmul, emit_qlinear, NULL,
     NULL},
    {"", "ConvInteger", 10, 0, infer_conv, emit_integer, NULL, CONV},
    {"", "MatMulInteger", 10, 0, infer_matmul, emit_integer, NULL, NULL},

    {"", "Attention", 23, 0, infer_attention, emit_attention, NULL,
     "is_causal,kv_num_heads,left_window_size,q_num_heads,"
     "qk_matmul_output_mode,right_window_size,scale,softcap,"
     "softmax_precision"},
    {"", "RotaryEmbedding", 23, 0, infer_same, emit_rotary, NULL,
     "interleaved,num_heads,rotary_embedding_dim"},
    {MS, "FusedMatMul", 1, 0, infer_matmul, emit_matmul, NULL,
     "alpha,transA,transB,transBatchA,transBatchB"},
    {MS, "Gelu", 1, 0, infer_same, emit_gelu, NULL, NULL},
    {MS, "FastGelu", 1, 0, infer_same, emit_gelu, NULL, NULL},
    {MS, "BiasGelu", 1, 0, infer_same, emit_gelu, NULL, NULL},
    {MS, "QuickGelu", 1, 0, infer_same, emit_activation, NULL, "alpha"},
    {MS, "SkipLayerNormalization", 1, 0, infer_skip_norm, emit_skip_norm, NULL,
     "epsilon"},
    {MS, "SkipSimplifiedLayerNormalization", 1, 0, infer_skip_norm,
     emit_skip_norm, NULL, "epsilon"},
    {MS, "MultiHeadAttention", 1, 0, infer_attention, emit_attention, NULL,
     "num_heads,scale,unidirectional,mask_filter_value"},
    {MS, "RotaryEmbedding", 1, 0, infer_same, emit_rotary, NULL,
     "interleaved,num_heads,rotary_embedding_dim,scale,is_packed_batching"},

    {"", "DFT", 17, 0, NULL, NULL, NULL, "axis,inverse,onesided"},
    {"", "STFT", 17, 0, NULL, NULL, NULL, "onesided"},
    IN_PARTS("QLinearAdd", NULL),
    IN_PARTS("QLinearMul", NULL),
    IN_PARTS("QLinearSigmoid", NULL),
    IN_PARTS("QLinearLeakyRelu", "alpha"),
    IN_PARTS("QLinearSoftmax", "axis,opset"),
    IN_PARTS("QLinearReduceMean", "axes,keepdims"),
    IN_PARTS("QLinearAveragePool", POOL ",channels_last"),
    IN_PARTS("QLinearGlobalAveragePool", "channels_last"),
    IN_PARTS("QLinearWhere", NULL),
    IN_PARTS("QLinearConcat", "axis"),
    IN_PARTS("QGemm", "alpha,transA,transB"),
    IN_PARTS("MatMulIntegerToFloat", NULL),
    IN_PARTS("DynamicQuantizeMatMul", NULL),

    /* what patterns find */
    {"dcc", "Silu", 1, 0, infer_same, emit_text, "silu($0)", NULL},
    {"dcc", "Mish", 1, 0, infer_same, emit_text, "mish($0)", NULL},
    {"dcc", "QuickGelu", 1, 0, infer_same, emit_text, "quick_gelu($0)", NULL},
    {"dcc", "HardSwish", 1, 0, infer_same, emit_text, "hard_swish($0)", NULL},
    {"dcc", "Gelu", 1, 0, infer_same, emit_gelu, NULL, "approximate"},
    {"dcc", "LayerNormalization", 1, 0, infer_norm, emit_layer_norm, NULL,
     "axis,epsilon,along"},
    {"dcc", "RMSNormalization", 1, 0, infer_norm, emit_layer_norm, NULL,
     "axis,epsilon"},
    {"dcc", "Attention", 1, 0, infer_attention, emit_sdpa, NULL,
     "scale,zeroed"},
    {"dcc", "Rotated", 1, 0, infer_same, emit_text, "rotated($0, $1, $2)",
     NULL},
    {"dcc", "Reshape", 1, 0, infer_same, emit_reshape, NULL, NULL},
    {"dcc", "L2Normalization", 1, 0, infer_same, emit_lp_norm, NULL, "axis,p"},
};

const OpInfo *op_find(const char *domain, const char *name, int version,
                      bool *named)
{
    *named = false;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const OpInfo *o = &ops[i];
        if (strcmp(o->name, name) || strcmp(o->domain, domain))
            continue;
        *named = true;
        if (version >= o->since && (!o->last || version <= o->last))
            return o;
    }
    return NULL;
}

int op_needs(const OpInfo *o)
{
    static const char *const none[] = {"Constant", NULL};
    static const char *const two[] = {
        "PRelu", "Div", "Pow", "Mod", "Add", "Sub", "Mul", "Equal",
        "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "And", "Or",
        "Xor", "CastLike", "MatMul", "Gemm", "Conv", "ConvTranspose",
        "CumSum", "LayerNormalization", "RMSNormalization",
        "SimplifiedLayerNormalization", "Expand", "Tile", "GridSample",
        "Gather", "GatherElements", "GatherND", "DequantizeLinear",
        "ConvInteger", "MatMulInteger", "FusedMatMul", "STFT", NULL};
    static const char *const three[] = {
        "Where", "InstanceNormalization", "GroupNormalization",
        "ScatterElements", "Scatter", "ScatterND", "OneHot", "Range", "LSTM",
        "GRU", "RNN", "Attention", "RotaryEmbedding",
        "SkipLayerNormalization", "SkipSimplifiedLayerNormalization",
        "MultiHeadAttention", NULL};
    static const struct {
        int count;
        const char *const *name;
    } lists[] = {{0, none}, {2, two}, {3, three}};

    for (int i = 0; i < 3; i++)
        for (const char *const *n = lists[i].name; *n; n++)
            if (!strcmp(*n, o->name))
                return *o->domain && !strcmp(o->name, "RotaryEmbedding")
                           ? 4 : lists[i].count;
    return !strcmp(o->name, "BatchNormalization") ? 5
           : !strcmp(o->name, "QLinearConv") ||
                     !strcmp(o->name, "QLinearMatMul") ? 8
           : !strcmp(o->name, "QuantizeLinear")        ? 2
           : !strcmp(o->name, "DynamicQuantizeMatMul") ? 3
           : !strcmp(o->name, "MatMulIntegerToFloat")  ? 4
           : !strcmp(o->name, "QGemm") && !o->infer    ? 5 : 1;
}
