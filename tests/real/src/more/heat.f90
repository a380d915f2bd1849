program heat
  implicit none
  real(8), allocatable :: t(:, :), n(:, :)
  character(len=:), allocatable :: s
  integer :: i, j, k
  allocate (t(60, 60), source=0d0)
  t(1, :) = 100
  do k = 1, 200
    n = t
    do j = 2, 59
      do i = 2, 59
        n(i, j) = (t(i - 1, j) + t(i + 1, j) + t(i, j - 1) + t(i, j + 1)) / 4
      end do
    end do
    call move_alloc(n, t)
  end do
  do i = 1, 60, 6
    print '(10f9.4)', t(i, ::6)
  end do
  s = ''
  do i = 1, 300
    s = s//achar(97 + mod(i, 26))
  end do
  print '(a)', s
  stop 13
end program
