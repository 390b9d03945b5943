#!/bin/sh
# Installs torch so that a Linux machine without an NVIDIA GPU never downloads a CUDA build (2.9 GB against 0.2 GB),
# and writes the constraint that keeps later installs from replacing it.
#
# usage: sh requirements/torch.sh PYTHON CONSTRAINT_FILE
# TORCH_SPEC (such as torch==2.13.0) and TORCH_INDEX (the address of a package index) overrule what is found here.
# TORCH_RELEASE (such as 2.13.0) is the one release that will do, wherever it is found; without it any may be taken.
set -eu
python=$1
constraint=$2
release=${TORCH_RELEASE:-}
tested=torch==${release:-2.13.0}
public_cpu_index=https://download.pytorch.org/whl/cpu
spec=${TORCH_SPEC:-}
index=${TORCH_INDEX:-}

if [ -n "$spec$index" ]; then
    reason="as TORCH_SPEC and TORCH_INDEX say"
elif [ "$(uname -s)" != Linux ]; then
    reason="the usual build: only Linux has CUDA in it"
elif nvidia-smi > /dev/null 2>&1; then
    reason="the usual build: there is an NVIDIA GPU"
else
    # Lists versions and downloads none; a CPU build shows as 2.13.0+cpu.
    offered=$("$python" -m pip index versions torch 2> /dev/null | tr -d ',' | tr ' ' '\n' |
        grep -x "${release:-[0-9][0-9.]*}+cpu" | head -n 1 || true)
    if [ -n "$offered" ]; then
        reason="a CPU build that pip is already offered: there is no NVIDIA GPU"
        spec=torch==$offered
    else
        reason="a CPU build from $public_cpu_index: there is no NVIDIA GPU"
        index=$public_cpu_index
    fi
fi

spec=${spec:-$tested}
echo "==> $spec, $reason"
"$python" -m pip install --quiet ${index:+--index-url "$index"} "$spec"
"$python" -c 'from importlib.metadata import version; print("torch==" + version("torch"))' > "$constraint"
