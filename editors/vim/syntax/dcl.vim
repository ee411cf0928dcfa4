" Vim syntax of .dcl, dcc's tensor programs.
if exists("b:current_syntax")
    finish
endif

syn keyword dclItem op block model
syn keyword dclDeclare dim type input output param state
syn keyword dclControl for in if else scan as or require
syn keyword dclType f32 f16 bf16 i8 u8 i32 bool f8e4m3
syn keyword dclConstant inf true false
syn match dclReduce "\<\(sum\|mean\|prod\|max\|min\|argmax\|argmin\)\>\ze\s*("
syn match dclCall "\<\h\w*\>\ze\s*(" contains=dclReduce
syn match dclNumber "\<\d\+\(\.\d\+\)\?\([eE][+-]\?\d\+\)\?\>"
syn match dclMark "@\h\w*"
syn region dclHole start="{" end="}" contained contains=dclNumber
syn region dclString start=+"+ end=+"+ oneline contains=dclHole
syn match dclComment "//.*$" contains=@Spell

hi def link dclItem Structure
hi def link dclDeclare StorageClass
hi def link dclControl Statement
hi def link dclType Type
hi def link dclConstant Constant
hi def link dclReduce Operator
hi def link dclCall Function
hi def link dclNumber Number
hi def link dclMark PreProc
hi def link dclHole Special
hi def link dclString String
hi def link dclComment Comment

setlocal commentstring=//\ %s
let b:current_syntax = "dcl"
