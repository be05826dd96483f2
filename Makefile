# Each target is one script; without make, call the script itself (`sh scripts/demo`).

.PHONY: demo test check bench fuzz serve docs setup lock clean

demo:   ; @sh scripts/demo
test:   ; @sh scripts/test
check:  ; @sh scripts/check
bench:  ; @sh scripts/bench
fuzz:   ; @sh scripts/fuzz
serve:  ; @sh scripts/serve
docs:   ; @sh scripts/docs
setup:  ; @sh scripts/setup dev
lock:   ; @sh scripts/lock
clean:  ; @rm -rf .venv build dist
