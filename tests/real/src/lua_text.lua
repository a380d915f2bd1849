-- Tables, strings, coroutines, metatables, the collector.
local words, lines = {}, 0
for line in io.lines(arg[1]) do
    lines = lines + 1
    for w in line:gmatch("%a+") do words[w] = (words[w] or 0) + 1 end
end
local names = {}
for w in pairs(words) do names[#names + 1] = w end
table.sort(names, function(a, b) return words[a] > words[b] or words[a] == words[b] and a < b end)
for i = 1, 10 do print(names[i], words[names[i]]) end
local co = coroutine.wrap(function() for i = 1, 2000 do coroutine.yield({ i, tostring(i):rep(3) }) end end)
local sum = 0
for _ = 1, 2000 do local t = co(); sum = sum + t[1] * #t[2] end
collectgarbage()
print("lines", lines, "words", #names, "sum", sum)
print(pcall(error, setmetatable({}, { __tostring = function() return "an error object" end })))
print(string.format("%q %5.2f %s", "quo\"ted", 2 / 3, ("x"):rep(50)))
