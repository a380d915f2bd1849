# Threads, fork with a marshalled answer, spawn, backticks, at_exit.
$stdout.sync = true
at_exit { puts "at exit" if $$ == $parent }
$parent = $$
queue = Queue.new
makers = 4.times.map { |i| Thread.new { 200.times { |j| queue << "#{i}-#{j}" * 5 } } }
makers.each(&:join)
puts "queue #{queue.size}"
answers = 4.times.map do |i|
  read, write = IO.pipe
  pid = fork do
    read.close
    Marshal.dump({ i => (1..500 * (i + 1)).map(&:to_s).join.size }, write)
    exit! i
  end
  write.close
  answer = Marshal.load(read.read)
  Process.wait(pid)
  [answer, $?.exitstatus]
end
puts "answers #{answers.inspect}"
puts "backticks #{`echo hello`.inspect} #{$?.exitstatus}"
pid = spawn("/bin/sh", "-c", "exit 6")
Process.wait(pid)
puts "spawned #{$?.exitstatus}"
puts "popen #{IO.popen(["/usr/bin/sort"], "r+") { |io| io.puts "b", "a"; io.close_write; io.read }.inspect}"
