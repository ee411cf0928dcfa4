au BufRead,BufNewFile *.dcl setfiletype dcl
