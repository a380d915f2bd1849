# A repository from nothing: add, commit, branch, merge, log, clone, gc, fsck, bundle.
set -e
export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org
export GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.org
commit() {
    GIT_AUTHOR_DATE="$2 +0000" GIT_COMMITTER_DATE="$2 +0000" git commit -q -a -m "$1"
}
git init -q -b main work
cd work
for i in 1 2 3 4 5; do
    head -n $((i * 200)) "$1/text.txt" >a.txt
    tail -n $((i * 100)) "$1/text.txt" >b.txt
    git add a.txt b.txt
    commit "change $i" "$((1000000000 + i * 1000))"
done
git checkout -q -b side HEAD~2
echo side >c.txt
git add c.txt
commit "on the side" 1000100000
git checkout -q main
GIT_AUTHOR_DATE="1000200000 +0000" GIT_COMMITTER_DATE="1000200000 +0000" git merge -q -m merged side
git log --graph --stat --format='%H %an %ad %s'
git blame -s a.txt | tail -n 3
git grep -c qu
cd ..
git clone -q work copy
git -C copy gc -q
git -C copy fsck --no-progress
git -C copy count-objects -v | grep -v size
git -C copy archive --format=tar HEAD | sha256sum
git -C copy rev-list --objects --all | sha256sum
