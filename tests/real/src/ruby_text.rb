# Strings, hashes, blocks, big numbers, garbage collection.
require "json"
require "set"
require "digest"
records = JSON.parse(File.read(ARGV[0]))
tags = records.flat_map { |r| r["tags"] }.tally.sort_by { |k, v| [-v, k] }
puts "tags #{tags.first(8).inspect}"
groups = records.group_by { |r| r["name"][0] }.transform_values { |v| v.sum { |r| r["score"] }.round(3) }
puts "groups #{groups.sort.to_h}"
puts "set #{records.map { |r| r["id"] % 97 }.to_set.size}"
puts "big #{(1..300).inject(:*).to_s.size} #{2**500}"
text = records.map { |r| format("%-20s|%8.2f", r["name"], r["score"]) }.join("\n")
GC.start
puts "digest #{Digest::SHA256.hexdigest(text.gsub(/[aeiou]/) { |m| m.upcase })}"
begin
  raise ArgumentError, "x" * 50
rescue => e
  puts "rescued #{e.message.size}"
end
fiber = Fiber.new { 50.times { |i| Fiber.yield "f" * i } }
puts "fiber #{50.times.sum { fiber.resume.size }}"
