def top(n): group_by(.) | map({word: .[0], n: length}) | sort_by([-.n, .word]) | .[:n];
{
  count: length,
  active: map(select(.active)) | length,
  score: (map(.score) | add | . * 1000 | floor),
  tags: (map(.tags[]) | top(10)),
  names: (map(.name | split(" ")[] | ascii_upcase) | top(5)),
  events: ([.[].events[].v] | (min, max, length)),
  paths: (.[0] | [paths | map(tostring) | join("/")])
}
