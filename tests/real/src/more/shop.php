<?php
$words = file($argv[1], FILE_IGNORE_NEW_LINES);
$trie = [];
foreach ($words as $w) {
    $node = &$trie;
    foreach (str_split($w) as $c)
        $node = &$node[$c];
    $node['$'] = true;
}
unset($node);
echo count($words), ' ', count($trie), ' ', strlen(serialize($trie)), "\n";
echo md5(json_encode(unserialize(serialize($trie)))), "\n";
for ($i = 0; $i < 20; $i++)
    printf("%s %s\n", preg_replace('/[aeiou]/', '*', $words[$i * 7]), strrev(ucfirst($words[$i])));
function fail() { throw new RuntimeException('as meant'); }
try { fail(); } catch (RuntimeException $e) { echo get_class($e), ': ', $e->getMessage(), "\n"; }
exit(4);
