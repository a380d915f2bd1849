/*
 * accesses_cxx.cc - what C++'s library copies, fills and compares is silent.
 *
 * rtc-build: -O1 -g
 */
#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

int main()
{
    std::string text;
    std::wstring wide;
    std::vector<std::wstring> wide_words;
    std::vector<char> bytes;
    std::vector<std::string> words;
    std::map<std::string, int> numbers;
    for (int i = 0; i < 3000; i++) {
        text += static_cast<char>('a' + i % 26);
        if (i % 7 == 0)
            text.insert(text.size() / 2, "zz");
        if (i % 11 == 0)
            text.erase(0, 1);
        wide += static_cast<wchar_t>(L'a' + i % 26);
        if (i % 7 == 0)
            wide.insert(wide.size() / 2, L"zz");
        if (i % 11 == 0)
            wide.erase(0, 1);
        wide_words.push_back(wide.substr(wide.find(L'd') % 7, static_cast<std::size_t>(i % 90)));
        bytes.push_back('x');
        bytes.insert(bytes.begin(), static_cast<std::size_t>(i % 5), 'y');
        if (bytes.size() > 500)
            bytes.erase(bytes.begin(), bytes.begin() + 300);
        words.push_back(text.substr(0, static_cast<std::size_t>(i % 100)));
        numbers[words.back()] = i;
    }
    std::sort(words.begin(), words.end());
    std::sort(wide_words.begin(), wide_words.end());
    std::wostringstream wide_out;
    for (const auto &word : wide_words)
        wide_out << word.c_str() << std::stol(L"12" + word.substr(0, 1)) << L'\n';
    std::vector<std::string> copy(words);
    std::ostringstream out;
    for (const auto &word : copy)
        out << word.c_str() << '\n';
    std::string all = out.str();
    std::printf("%zu %zu %zu %zu %zu %zu\n", wide_out.str().size(), text.size(), bytes.size(),
                all.size(), numbers.size(),
                all.find("never there") == std::string::npos ? all.find("xyz") : 0);
    return 0;
}
