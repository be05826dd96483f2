# Sourced by every script here: goes to the top of the checkout, whatever the caller's folder, and finds
# a Python that will do. POSIX sh; nothing is needed beyond python3 (3.11 or newer) with venv.

set -eu
CDPATH='' cd -- "$(dirname -- "$0")/.."
root=$(pwd)
PIP_DISABLE_PIP_VERSION_CHECK=1
export PIP_DISABLE_PIP_VERSION_CHECK

say() { printf '%s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

# Names the Python to build environments with: $PYTHON, else the first new enough one on the PATH.
find_python() {
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    die "sidestream needs Python 3.11 or newer (${PYTHON:-python3} is older, or missing)." \
        "Install one, or name it: PYTHON=/usr/bin/python3.12 make demo"
}

# make_venv FOLDER: a new virtual environment there, whatever was there before.
make_venv() {
    python=$(find_python)
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        die "$python cannot make virtual environments here: its venv module is not installed." \
            "On Debian and Ubuntu: apt install python3-venv"
    "$python" -m venv --clear "$1"
}

# install_lock FOLDER LOCK: exactly what the lock names, each file checked against its hash.
install_lock() {
    "$1/bin/python" -m pip install -qq --require-hashes -r "$2"
}
