# A calculator of bison and flex, built and run; an object of nasm.
cat >c.l <<'L'
%option noyywrap
%{
#include "c.tab.h"
%}
%%
[0-9]+ { yylval = atoi(yytext); return NUM; }
[ \t] ;
.|\n return *yytext;
L
cat >c.y <<'Y'
%{
#include <stdio.h>
int yylex(void); static void yyerror(const char *s) { fprintf(stderr, "%s\n", s); }
%}
%token NUM
%left '+' '-'
%left '*'
%%
lines: | lines e '\n' { printf("%d\n", $2); } | lines error '\n' { yyerrok; };
e: NUM | e '+' e { $$ = $1 + $3; } | e '-' e { $$ = $1 - $3; } | e '*' e { $$ = $1 * $3; } | '(' e ')' { $$ = $2; };
%%
int main(void) { return yyparse(); }
Y
/usr/bin/bison -d c.y && /usr/bin/flex -o lex.c c.l && /usr/bin/gcc -w -include stdlib.h -o calc c.tab.c lex.c || exit
printf '1 + 2 * 3\n(4 - 1) * (2 + 2)\n1 +\n7\n' | ./calc
printf 'global _start\nsection .text\n_start:\n%%rep 400\n mov eax, 60\n xor edi, edi\n%%endrep\n syscall\n' >a.asm
/usr/bin/nasm -f elf64 -o a.o a.asm && sha256sum a.o
/usr/bin/yasm -f elf64 -o b.o a.asm && /usr/bin/size b.o
