#!/bin/bash
# Two workers on two machines that share a study over NFS, of version 4.1 and of version 3 without locks. The machines
# are emulated, with Debian's kernel and a file system in memory that holds surd and little else; one of them is
# suspended in the middle of a run until the other has made all of them. What comes out is compared with what one worker
# makes.
#
#     nfs.sh SURD FOLDER
#
# SURD is built with the preset avx2, which is what the emulated machines can do. Needs nfs-ganesha-vfs,
# rpcbind, qemu-system-x86, busybox-static, cpio and kmod; runs as root. FOLDER is made, and holds every log afterwards.
set -euo pipefail

tests=$(realpath "$(dirname "$0")")
. "$tests/wait_for.sh"
surd=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
package=$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends:/ { print $2 }')

# What listens here has a network of its own, and what is started here ends with it.
if [[ ! ${isolated:-} ]]; then
  (cd "$folder" && apt-get download -qq -o APT::Sandbox::User=root "$package" && dpkg-deb -x "$package"_*.deb kernel)
  isolated=yes exec unshare --net --pid --fork --kill-child --mount-proc "$0" "$@"
fi
ip link set lo up
mount -t tmpfs tmpfs /run
# Here as there, so that the same products are surd's and the results can be compared.
export OPENBLAS_CORETYPE=Haswell
of_processor() { awk -F '\t*: ' -v key="$1" '$1 == key { print $2; exit }' /proc/cpuinfo; }
processor="max,vendor=$(of_processor vendor_id),family=$(of_processor 'cpu family')"

cat >"$folder/study.yaml" <<STUDY
title: A study for a file server
base:
  task: {name: reverse, train_size: 50, valid_size: 5, test_size: 1}
  model: {d_model: 8, heads: 1, encoder_layers: 1, decoder_layers: 1}
  train: {updates: 20, evaluate_every: 10, batch_size: 5}
arms: [{name: low}, {name: high, set: {optimizer.learning_rate: 0.003}}]
metrics: [{name: loss, kind: final_value}]
hypotheses: [{name: H, metric: loss, arm: {arm: high}, against: {arm: low}, expect: lower}]
seeds: 10
STUDY

# All that a machine has in its memory.
release=${package#linux-image-}
depmod -b "$folder/kernel" "$release"
root=$folder/root
mkdir -p "$root"/{bin,proc,sys,dev,study}
for file in "$surd" $(ldd "$surd" | grep -o '/[^ ]*'); do install -D "$file" "$root/$file"; done
cp /bin/busybox "$root/bin"
modules=()
for module in virtio_pci virtio_net nfsv3 nfsv4; do
  while read -r _ file; do
    modules+=("${file##*/}")
    cp "$file" "$root"
  done < <(modprobe -d "$folder/kernel" -S "$release" --show-depends "$module")
done
cat >"$root/init" <<INIT
#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in ${modules[*]}; do insmod /\$module 2>/dev/null; done
hostname \$machine
ip link set lo up
ip address add 10.0.2.15/24 dev eth0
ip link set eth0 up
export OPENBLAS_CORETYPE=$OPENBLAS_CORETYPE
mount -t nfs -o \$options,addr=10.0.2.2 10.0.2.2:/export /study && { [ \$machine = other ] || $surd doctor /study; } &&
  $surd study work /study/study --lease 15s
echo "ended with \$?"
umount /study
poweroff -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio --quiet --create --format=newc >"$folder/root.cpio")

start_machine() {
  qemu-system-x86_64 -accel tcg -cpu "$processor" -m 1024 -display none -no-reboot -serial "file:$here/$1.log" \
    -netdev user,id=net -device virtio-net-pci,netdev=net -kernel "$folder/kernel/boot/vmlinuz-$release" \
    -initrd "$folder/root.cpio" -append "console=ttyS0 quiet machine=$1 options=$options" 2>"$here/$1.qemu.log" &
}

said() { [[ $(grep -c "^$3" "$here/$2.log") -ge $1 ]]; }
both_have_made_two() { said 2 one finished && said 2 other finished; }

try() {
  here=$folder/$1 options=$2
  echo "NFS, $options"
  mkdir -p "$here/export"
  "$surd" study run "$folder/study.yaml" --out "$here/export/study" --jobs 0
  cat >"$here/ganesha.conf" <<CONF
NFS_CORE_PARAM { NFS_Port = 2049; MNT_Port = 20048; Protocols = 3, 4; Enable_NLM = false; Enable_RQUOTA = false;
                 Mount_Path_Pseudo = true; }
NFSV4 { Grace_Period = 5; Lease_Lifetime = 15; RecoveryBackend = fs; }
EXPORT { Export_Id = 1; Path = $here/export; Pseudo = /export; Access_Type = RW; Squash = No_Root_Squash;
         SecType = sys; Protocols = 3, 4; Transports = TCP; FSAL { Name = VFS; } }
CONF
  touch "$here"/{ganesha,one,other}.log
  ganesha.nfsd -F -f "$here/ganesha.conf" -L "$here/ganesha.log" -p "$here/ganesha.pid" &
  local server=$!
  wait_for "the server is there" 60 grep -q "NFS SERVER INITIALIZED" "$here/ganesha.log"
  start_machine one
  start_machine other
  local machine=$!
  wait_for "both machines have made two runs" 180 both_have_made_two
  kill -STOP "$machine"
  wait_for "one was suspended, and the other has made all runs" 300 said 1 one ended
  kill -CONT "$machine"
  wait_for "the first has ended too" 120 said 1 other ended
  kill "$server"
  wait "$server" || true
  "$surd" study report "$here/export/study" >/dev/null
  said 1 one "ended with 0" && said 1 other "ended with 0" || { echo "a worker failed" >&2; exit 1; }
  python3 "$tests/expect_same_results.py" "$here/export/study" "$folder/alone" 20 "$here"/{one,other}.log
}

"$surd" study run "$folder/study.yaml" --out "$folder/alone" --jobs 1 >"$folder/alone.log"
"$surd" study report "$folder/alone" >/dev/null
rpcbind -w
try version-4 vers=4.1
try version-3 vers=3,nolock,port=2049,mountport=20048,mountproto=tcp,proto=tcp
