package main

/*
#include <stdlib.h>
#include <string.h>
static char *turned(const char *s)
{
    size_t n = strlen(s);
    char *out = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        out[i] = s[n - 1 - i];
    out[n] = 0;
    return out;
}
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"unsafe"
)

func turn(s string) string {
	in := C.CString(s)
	out := C.turned(in)
	defer C.free(unsafe.Pointer(in))
	defer C.free(unsafe.Pointer(out))
	return C.GoString(out)
}

func main() {
	file, err := os.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	var lock sync.Mutex
	var all sync.WaitGroup
	count := map[string]int{}
	lines := make(chan string, 100)
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for line := range lines {
				for _, word := range strings.Fields(line) {
					word = turn(word)
					lock.Lock()
					count[word]++
					lock.Unlock()
				}
			}
		}()
	}
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		lines <- scanner.Text()
	}
	close(lines)
	all.Wait()
	var words []string
	for word, n := range count {
		if n > 1 {
			words = append(words, fmt.Sprint(word, " ", n))
		}
	}
	sort.Strings(words)
	fmt.Println(len(words), strings.Join(words[:100], "\n"))
}
