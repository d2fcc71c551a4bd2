# Plenum: make [CONFIG=release|debug|asan|tsan] [CC=gcc|clang]
#   make         build the four programs into build/$(CONFIG)/
#   make demo    install what is missing, build, run a server and a client on the playground
#   make test    install what is missing, build and run all tests; TESTS="x y": those whose path holds x or y
#   make check   what to run before a commit: format, tree rules, unit tests
#   make check-asan, check-tsan    the same tests under the sanitizers
#   make bench   plenum-bench        make fuzz   60 s of each fuzz target
#   make soak    one server and 64 clients for SOAK_MINUTES (20)
#   make bench-peers               the rigid and soft scenes beside Bullet and ODE
#   make golden  store the hashes of the current worlds: tests/determinism/golden/hashes
#   make check-deploy              deploy/ with the tools of operators (installs them)
#   make check-export              exports and films with gltf-validator, @mcap/core and ffmpeg (installs them)
#   make lint    formatting, static analysis, include directions
#   make map     what each file is for; ROOM=server/host: those of one folder
#   make compile_commands.json     the flags of every file, for editors
#   make deb, image   packages for Debian and a container image, in build/deb and build/image
#   make check-deb    installs and removes the packages in a bare system
#   make install PREFIX=/usr/local DESTDIR=
#   make help    this list
CONFIG ?= release
ifeq ($(origin CC),default)
CC := gcc
endif
CXX := $(if $(findstring clang,$(CC)),clang++,g++)
PREFIX ?= /usr/local
DESTDIR ?=
# Instruction set of the build. Results do not depend on it (no FMA contraction); speed does.
ARCH ?= $(if $(shell grep -m1 -o avx2 /proc/cpuinfo 2>/dev/null),x86-64-v3,$(if $(filter x86_64,$(shell uname -m)),x86-64,native))
B ?= build/$(CONFIG)
GEN := build/gen
VERSION := $(shell sed -n 's/^\#define PLENUM_VERSION "\(.*\)"/\1/p' shared/base/version.h)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:

# ---- packages -------------------------------------------------------------------------------
PACKAGES := gcc g++ make pkg-config libuv1-dev libenet-dev flatbuffers-compiler libflatbuffers-dev \
	libsdl2-dev libepoxy-dev libcmocka-dev libsodium-dev libzstd-dev libxxhash-dev libinih-dev \
	libmicrohttpd-dev libjansson-dev libcurl4-openssl-dev libsystemd-dev libnats-dev systemtap-sdt-dev libicu-dev libimgui-dev libpng-dev libgl1-mesa-dri libegl1 libgl1
TEST_PACKAGES := xvfb xauth python3 python3-xxhash python3-zstandard clang libclang-rt-14-dev curl nats-server
LINT_PACKAGES := clang-format cppcheck python3
APT := $(if $(filter 0,$(shell id -u)),,sudo )apt-get
# Asks dpkg first, so that nothing is fetched (and no sudo asked) where all is there.
define install_packages
@there=" $$(dpkg-query -W -f '$${Package} $${Status}\n' $(1) 2>/dev/null | sed -n 's/ .* ok installed$$//p' | tr '\n' ' ')"; missing=""; \
for p in $(1); do case "$$there" in *" $$p "*) ;; *) missing="$$missing $$p" ;; esac; done; \
if [ -n "$$missing" ]; then echo "installing:$$missing"; \
	$(APT) update -qq && DEBIAN_FRONTEND=noninteractive $(APT) install -y -qq --no-install-recommends $$missing >/dev/null \
	|| { echo "could not install$$missing: install them by hand and try again" >&2; exit 1; }; fi
endef

# ---- flags ----------------------------------------------------------------------------------
# Determinism: no contraction, no fast-math (ARCHITECTURE.md). Sanitizers name lines, which -g1 keeps. Functions start at cache lines: where the
# hot ones happened to lie was worth 7 % from build to build.
OPT_release := -O3 -g -falign-functions=64
OPT_debug := -O1 -g -DPL_VALIDATE
OPT_asan := -O1 -g1 -DPL_VALIDATE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
OPT_tsan := -O1 -g1 -fsanitize=thread
OPT_fuzz := -O1 -g -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize=vptr,function -fno-sanitize-recover=undefined
OPT := $(OPT_$(CONFIG)) $(EXTRA)
WARN := -Wall -Wextra -Werror -Wshadow
CPPFLAGS := -I. -I$(GEN) -D_GNU_SOURCE -DPLENUM_DATADIR='"$(PREFIX)/share/plenum"'
# gcc 12 makes a × b ± c out of pairs of products and sums in vectors (fmaddsub) even where contraction
# is off: without the instructions it cannot.
NO_FMA := $(if $(filter x86_64,$(shell uname -m)),-mno-fma)
COMMON := $(OPT) -march=$(ARCH) $(NO_FMA) -ffp-contract=off -fno-math-errno -fno-trapping-math -Wno-psabi -pthread -MMD -MP
CFLAGS := -std=c17 $(WARN) -Wstrict-prototypes $(COMMON)
CXXFLAGS := -std=c++17 -Wall -Wextra -Werror $(COMMON)
# What adaptive models compare tells a fuzzer nothing and took most of its time.
CODECS := $(patsubst %,$(B)/obj/%.o,$(foreach k,pose point grid mix,$(wildcard protocol/codec/$(k)_*.c)) protocol/codec/mix.c)
ifeq ($(CONFIG),fuzz)
$(CODECS): CFLAGS += -O2 -fno-sanitize-coverage=trace-cmp
endif
LDFLAGS := $(OPT) -pthread -Wl,--as-needed
LIBS := -luv -lenet -lsodium -lzstd -lxxhash -linih -ljansson -lmicrohttpd -lsystemd -lnats -licui18n -licuuc -lflatbuffers -lpng -lm -lstdc++
VIEW_LIBS := -lcurl -limgui -lstb -lSDL2 -lepoxy

# ---- layers: one static library each, lowest last on the link line -------------------------
layer_c = $(wildcard $(1)/*.c $(1)/*/*.c $(1)/*/*/*.c)
SRC_shared := $(wildcard shared/*/*.c)
SRC_protocol := $(wildcard protocol/*/*.c protocol/*/*.cpp)
SRC_physics := $(call layer_c,server/physics)
SRC_world := $(wildcard server/world/*.c)
SRC_author := $(wildcard server/author/*.c server/author/*.cpp)
SRC_export := $(wildcard server/export/*.c)
SRC_host := $(wildcard server/host/*.c)
SRC_lobby := $(wildcard server/lobby/*.c)
SRC_link := $(wildcard client/link/*.c)
SRC_view := $(wildcard client/view/*.c)
SRC_hand := $(wildcard client/hand/*.c client/hand/*.cpp)
SRC_support := $(wildcard tests/support/*.c)
LAYERS := shared protocol physics world author export host lobby link view hand support
objects = $(patsubst %,$(B)/obj/%.o,$(1))
# Nor does what solvers compare tell a fuzzer anything, and its worlds are to tick. Where there is
# nothing they add 0 to the null pointer of an empty array.
ifeq ($(CONFIG),fuzz)
$(call objects,$(SRC_physics)): CFLAGS += -O2 -fno-sanitize-coverage=trace-cmp -fno-sanitize=pointer-overflow
endif
# Most of the time of tests under the thread sanitizer is spent there.
ifeq ($(CONFIG),tsan)
$(CODECS) $(call objects,$(SRC_physics) $(filter shared/math/% shared/base/%,$(SRC_shared))): CFLAGS += -O2
endif
define layer_rule
$(B)/lib$(1).a: $(call objects,$(SRC_$(1)))
	@mkdir -p $$(@D)
	@rm -f $$@
	@ar rcsD $$@ $$^
endef
$(foreach l,$(LAYERS),$(eval $(call layer_rule,$(l))))
lib = $(patsubst %,$(B)/lib%.a,$(1))
SERVER_LIBS := $(call lib,host author world physics protocol shared)
# A client gets scenes as bytes: it links no JSON parser, no mesh readers, no decomposition.
SERVER_ONLY := -luv -lmicrohttpd -lsystemd -lnats -licui18n -licuuc -lflatbuffers
AUTHOR_NAMES := flatbuffers::Parser|scene_(load|parse|json|files)|height_image_|mesh_file_|convex_parts|reference_|schema_walk
CLIENT_LIBS := $(call lib,hand view link protocol shared)
ALL_LIBS := $(call lib,support hand view link export lobby host author world physics protocol shared)

PROGRAMS := plenum-server plenum-client plenum-tool plenum-bench
all: $(addprefix $(B)/,$(PROGRAMS))

$(B)/plenum-server: $(B)/obj/server/main.c.o $(SERVER_LIBS)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
$(B)/plenum-tool: $(call objects,$(wildcard server/tool_*.c)) $(call lib,export lobby) $(SERVER_LIBS)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
$(B)/plenum-client: $(call objects,$(wildcard client/*.c)) $(CLIENT_LIBS)
	$(CC) $(LDFLAGS) -o $@ $^ $(VIEW_LIBS) $(filter-out $(SERVER_ONLY),$(LIBS))
	@! nm -C $@ | grep -E '$(AUTHOR_NAMES)' || { echo "$@ has what only the server and the tool need" >&2; exit 1; }
BENCH_OBJECTS := $(call objects,$(wildcard tests/bench/*.c))
$(B)/plenum-bench: $(BENCH_OBJECTS) $(ALL_LIBS)
	$(CC) $(LDFLAGS) -o $@ $^ $(VIEW_LIBS) $(LIBS)

# Not a part of `all`: needs the engines to compare with.
PEER_PACKAGES := libbullet-dev libode-dev
PEER_OBJECTS := $(call objects,$(wildcard tests/bench/peers/*.c tests/bench/peers/*.cpp) \
	tests/bench/engine_plenum.c tests/bench/rigid_quality.c tests/bench/rigid_scenes.c tests/bench/rigid_world.c tests/bench/soft_scenes.c)
$(B)/obj/tests/bench/peers/%.o: CPPFLAGS += -isystem /usr/include/bullet
$(B)/plenum-bench-peers: $(PEER_OBJECTS) $(call lib,physics shared)
	$(CC) $(LDFLAGS) -o $@ $^ -lBulletSoftBody -lBulletDynamics -lBulletCollision -lLinearMath -lode $(LIBS)
# Trains what the codecs start from; a new version of the protocol.
codec-tables: all
	$(B)/plenum-bench codec --train protocol/codec/pose_tables.bin
	$(B)/plenum-bench codec --field points --train protocol/codec/point_tables.bin
	$(B)/plenum-bench codec --field grid2 --train protocol/codec/grid_tables.bin
bench-peers: deps
	$(call install_packages,$(PEER_PACKAGES))
	@$(MAKE) --no-print-directory -j$(JOBS) $(B)/plenum-bench-peers
	@$(B)/plenum-bench-peers

# ---- generated: FlatBuffers code, and the schemas as text for the JSON parser -----------------
FBS := $(wildcard protocol/*/*.fbs)
vpath %.fbs $(sort $(dir $(FBS)))
vpath %.bin protocol/codec
# Scenes of files are changed before they are packed for good.
FLATC_scene := --gen-object-api
GENERATED := $(foreach s,_generated.h _schema.h,$(patsubst %.fbs,$(GEN)/%$(s),$(notdir $(FBS))))
$(GEN)/%_generated.h: %.fbs
	@mkdir -p $(@D)
	flatc --cpp --scoped-enums --gen-all $(FLATC_$*) -o $(@D) $<
$(GEN)/%_schema.h: %.fbs
	@mkdir -p $(@D)
	@{ echo 'static const unsigned char $*_schema[] = {'; od -An -v -tu1 $< | sed 's/[0-9][0-9]*/&,/g'; echo '0};'; } > $@

$(GEN)/%_bin.h: %.bin
	@mkdir -p $(@D)
	@{ echo 'static const unsigned char $*_bin[] = {'; od -An -v -tu1 $< | sed 's/[0-9][0-9]*/&,/g'; echo '0};'; } > $@
$(B)/obj/protocol/codec/pose_tables.c.o: $(GEN)/pose_tables_bin.h
$(B)/obj/protocol/codec/point_tables.c.o: $(GEN)/point_tables_bin.h
$(B)/obj/protocol/codec/grid_tables.c.o: $(GEN)/grid_tables_bin.h

$(B)/obj/%.c.o: %.c
	@mkdir -p $(@D)
	@echo "  CC  $<"
	@$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(B)/obj/%.cpp.o: %.cpp | $(GENERATED)
	@mkdir -p $(@D)
	@echo "  CXX $<"
	@$(CXX) $(CPPFLAGS) -I/usr/include/imgui $(CXXFLAGS) -c -o $@ $<
.SECONDARY: $(GENERATED)
-include $(shell find $(B)/obj -name '*.d' 2>/dev/null)

# ---- tests: every tests/{unit,accuracy,determinism,worlds,net,e2e}/**/test_*.c is one program --------
TEST_SOURCES := $(shell find tests/unit tests/accuracy tests/determinism tests/worlds tests/net tests/e2e -name 'test_*.c' 2>/dev/null | sort)
TEST_PROGRAMS := $(patsubst %.c,$(B)/%,$(TEST_SOURCES))
# To copy what debuggers read took most of the time of linking 280 programs; CONFIG=debug has it.
TEST_LDFLAGS_release := -Wl,--strip-debug
# Of binutils, too, and twice as fast as the default one.
TEST_LINKER := $(if $(shell command -v ld.gold),-fuse-ld=gold)
$(TEST_PROGRAMS): $(B)/%: $(B)/obj/%.c.o $(B)/obj/tests/support/filter.c.o $(ALL_LIBS)
	@mkdir -p $(@D)
	@echo "  LD  $@"
	@$(CC) $(LDFLAGS) $(TEST_LINKER) $(TEST_LDFLAGS_$(CONFIG)) -o $@ $^ -lcmocka $(VIEW_LIBS) $(LIBS)
# Each fuzz target runs over its corpus as a test, without libFuzzer and with any compiler.
REPLAYS := $(patsubst %.c,$(B)/%,$(wildcard tests/fuzz/fuzz_*.c))
$(REPLAYS): $(B)/tests/fuzz/%: $(B)/obj/tests/fuzz/%.c.o $(B)/obj/tests/fuzz/replay.c.o $(B)/obj/tests/fuzz/target.c.o $(ALL_LIBS)
	@mkdir -p $(@D)
	@echo "  LD  $@"
	@$(CC) $(LDFLAGS) $(TEST_LINKER) $(TEST_LDFLAGS_$(CONFIG)) -o $@ $^ $(LIBS)
# TESTS="x y": the programs that tests/run.sh would run (paths that contain a word), and those of `all` where they are started by tests.
TESTS ?=
CHOSEN := $(foreach p,$(TEST_PROGRAMS) $(REPLAYS),$(if $(strip $(foreach w,$(TESTS),$(findstring $(w),$(p:$(B)/%=%)))),$(p)))
STARTERS := $(shell grep -l 'tests/support/process.h' $(TEST_SOURCES))
# Under the thread sanitizer four of five programs are not run.
ifeq ($(CONFIG) $(filter tests,$(MAKECMDGOALS)),tsan tests)
WANTED := $(addprefix $(B)/,$(shell tests/run.sh --list $(B) $(TESTS)))
else
WANTED := $(if $(TESTS),$(CHOSEN),$(TEST_PROGRAMS) $(REPLAYS))
endif
tests: $(if $(filter $(STARTERS:%.c=$(B)/%),$(WANTED)),all) $(WANTED)
deps:
	$(call install_packages,$(PACKAGES))
test-deps: deps
	$(call install_packages,$(TEST_PACKAGES))
# Dependencies are installed before make looks at the sources again (flatc output, headers).
JOBS ?= $(shell nproc)
test: test-deps
	@$(MAKE) --no-print-directory -j$(JOBS) CONFIG=$(CONFIG) TESTS='$(TESTS)' tests
	@tests/run.sh $(B) $(TESTS)
check: test-deps
	$(call install_packages,$(LINT_PACKAGES))
	@$(MAKE) --no-print-directory -j$(JOBS) TESTS=tests/unit check-format-changed check-tidy check-units
check-units: tests
	@tests/run.sh $(B) tests/unit
# What worlds do from now on, bit for bit: only with a commit that says why it changed.
golden: $(B)/tests/determinism/test_golden
	@$< --record
check-asan:
	@$(MAKE) --no-print-directory CONFIG=asan test
check-tsan:
	@$(MAKE) --no-print-directory CONFIG=tsan test
demo: deps
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@tests/demo.sh $(B)
# Writes the reference of SCENES.md anew, from the rows of shared/rows.
docs: $(B)/plenum-tool
	@sed -i -e '/^<!-- rows: from here/,/^<!-- rows: to here/{//!d}' protocol/SCENES.md
	@$(B)/plenum-tool schema | sed -i -e '/^<!-- rows: from here/r /dev/stdin' protocol/SCENES.md
# Writes shared/scenes/assets anew; what ships is what it wrote.
$(B)/make-models: $(B)/obj/tests/assets/make_models.c.o $(call lib,shared)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
models: $(B)/make-models
	@$(B)/make-models shared/scenes/assets
# When packets came, in real time, through bad networks: never twice the same.
$(B)/make-arrivals: $(B)/obj/tests/assets/make_arrivals.c.o $(call lib,support protocol shared)
	$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
arrivals: $(B)/make-arrivals
	@$(B)/make-arrivals tests/assets
bench: deps
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@$(B)/plenum-bench

# ---- fuzz: libFuzzer targets, clang only ------------------------------------------------------
FUZZ_SECONDS ?= 60
FUZZ_TARGETS := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz: test-deps
	@$(MAKE) --no-print-directory -j$(JOBS) CC=clang CONFIG=fuzz fuzz-programs
	@for t in $(FUZZ_TARGETS); do mkdir -p build/fuzz/corpus/$$t tests/fuzz/corpus/$$t; \
		echo "fuzz $$t: $(FUZZ_SECONDS) s"; \
		build/fuzz/fuzz_$$t -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=2048 -timeout=10 -print_final_stats=0 \
			-verbosity=0 build/fuzz/corpus/$$t tests/fuzz/corpus/$$t || exit 1; done
.SECONDARY: $(patsubst %,$(B)/obj/tests/fuzz/fuzz_%.c.o,$(FUZZ_TARGETS))
fuzz-programs: $(patsubst %,$(B)/fuzz_%,$(FUZZ_TARGETS))
$(B)/fuzz_%: $(B)/obj/tests/fuzz/fuzz_%.c.o $(B)/obj/tests/fuzz/target.c.o $(ALL_LIBS)
	@echo "  LD  $@"
	@$(CC) $(subst fuzzer-no-link,fuzzer,$(LDFLAGS)) -o $@ $^ $(LIBS)

# ---- soak: the programs for a long time -------------------------------------------------------
SOAK_MINUTES ?= 20
$(B)/tests/soak/soak: $(B)/obj/tests/soak/soak.c.o $(ALL_LIBS)
	@mkdir -p $(@D)
	@echo "  LD  $@"
	@$(CC) $(LDFLAGS) -o $@ $^ $(LIBS)
soak: deps
	@$(MAKE) --no-print-directory -j$(JOBS) all $(B)/tests/soak/soak
	@SOAK_MINUTES=$(SOAK_MINUTES) $(B)/tests/soak/soak

# ---- lint -----------------------------------------------------------------------------------
SOURCES := $(shell git ls-files '*.c' '*.h' '*.cpp' 2>/dev/null)
lint: deps
	$(call install_packages,$(LINT_PACKAGES))
	@$(MAKE) --no-print-directory $(GENERATED)
	@$(MAKE) --no-print-directory -j$(JOBS) check-format check-tidy
	@cppcheck --quiet --std=c17 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -j$(JOBS) \
		--suppressions-list=tests/tidy/cppcheck.txt -I. -D_GNU_SOURCE -D__x86_64__ shared protocol server client tests && echo "cppcheck: ok"
FORMAT_ALL = xargs -r -P $(JOBS) -n 100 clang-format --dry-run -Werror
check-format:
	@printf '%s\n' $(SOURCES) | $(FORMAT_ALL) && echo "format: ok"
# Only what changed since it last found nothing.
FORMATTED := build/formatted
check-format-changed:
	@mkdir -p build && touch $(FORMATTED).now
	@{ if [ $(FORMATTED) -nt .clang-format ]; then find $(SOURCES) -newer $(FORMATTED); else printf '%s\n' $(SOURCES); fi; } \
		| $(FORMAT_ALL) && mv $(FORMATTED).now $(FORMATTED) && echo "format: ok"
check-tidy:
	@python3 tests/tidy/tidy.py && echo "tidy: ok"
format:
	@clang-format -i $(SOURCES)

# ---- install --------------------------------------------------------------------------------
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/plenum/scenes $(DESTDIR)$(PREFIX)/share/plenum/scenes/assets $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(addprefix $(B)/,$(PROGRAMS)) $(DESTDIR)$(PREFIX)/bin
	install -m 644 shared/scenes/*.json $(DESTDIR)$(PREFIX)/share/plenum/scenes
	install -m 644 $(wildcard shared/scenes/assets/*.obj shared/scenes/assets/*.ply shared/scenes/assets/*.asc) shared/scenes/assets/river.png $(DESTDIR)$(PREFIX)/share/plenum/scenes/assets
	for page in deploy/man/*.1; do \
		sed '1s/@VERSION@/$(VERSION)/' $$page > $(DESTDIR)$(PREFIX)/share/man/man1/$${page##*/} || exit 1; done
# Worlds in other programs: the layers up to server/world, and author, in one library.
LIBDIR ?= $(PREFIX)/lib
DEV_LIBS := $(call lib,author world physics protocol shared)
DEV_FOLDERS := shared protocol server/physics server/world server/author
$(B)/libplenum.a: $(DEV_LIBS)
	@rm -f $@
	@{ echo "create $@"; printf 'addlib %s\n' $^; echo save; echo end; } | ar -M
install-dev: $(B)/libplenum.a
	install -d $(DESTDIR)$(PREFIX)/include/plenum $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $< $(DESTDIR)$(LIBDIR)
	for header in $$(find $(DEV_FOLDERS) -name '*.h' -o -name '*.def'); do \
		install -D -m 644 $$header $(DESTDIR)$(PREFIX)/include/plenum/$$header || exit 1; done
	sed -e 's,@PREFIX@,$(PREFIX),; s,@LIBDIR@,$(LIBDIR),; s,@VERSION@,$(VERSION),' deploy/plenum.pc.in > $(DESTDIR)$(LIBDIR)/pkgconfig/plenum.pc

# ---- packages for Debian: built in a copy of the tracked files, for any amd64 machine ------------
DEB_PACKAGES := debhelper dpkg-dev lintian
DEB_EXTRA := -fstack-protector-strong -D_FORTIFY_SOURCE=2 -Wl,-z,relro -Wl,-z,now
DEB_TREE := build/deb/plenum
deb-tree: deps
	@mkdir -p $(DEB_TREE) && git ls-files -z | xargs -0 cp -pu --parents -t $(DEB_TREE)
	@rm -rf $(DEB_TREE)/debian build/deb/*.deb && cp -r deploy/debian $(DEB_TREE)/debian && rm $(DEB_TREE)/debian/README.md
	@sed -i -e 's/@VERSION@/$(VERSION)/' -e "s/@DATE@/$$(git log -1 --format=%aD)/" $(DEB_TREE)/debian/changelog
	@$(MAKE) --no-print-directory -C $(DEB_TREE) -j$(JOBS) B=build/deb PREFIX=/usr ARCH=x86-64 EXTRA='$(DEB_EXTRA)' all
deb: deb-tree
	$(call install_packages,$(DEB_PACKAGES))
	@cd $(DEB_TREE) && PLENUM_ARCH=x86-64 PLENUM_EXTRA='$(DEB_EXTRA)' DEB_BUILD_OPTIONS=noautodbgsym \
		dpkg-buildpackage -b -nc -us -uc > ../build.log 2>&1 || { tail -n 40 ../build.log; exit 1; }
	@lintian --allow-root --fail-on error,warning --tag-display-limit 0 build/deb/plenum_$(VERSION)_*.changes
	@ls -l build/deb/*.deb
# Installs and removes them in a bare system.
check-deb: deb
	$(call install_packages,debootstrap)
	@deploy/check_deb.sh build/deb
# The container image of the server: build/image/plenum-server.tar.
image: deb-tree
	$(call install_packages,buildah icu-devtools)
	@rm -rf build/image && mkdir -p build/image
	@deploy/image/build.sh $(DEB_TREE)/build/deb/plenum-server build/image
clean:
	rm -rf build
# With tools that CI does without.
DEPLOY_PACKAGES := prometheus systemd python3-yaml
check-deploy: test-deps
	$(call install_packages,$(DEPLOY_PACKAGES))
	@$(MAKE) --no-print-directory TESTS=e2e/test_observe test
	@deploy/check.sh $(B)
# Exports judged by the validators of their formats, which npm installs: not a part of `make test`.
# A Node.js from elsewhere brings its own npm, beside which Debian's cannot be installed.
EXPORT_PACKAGES = ffmpeg $(if $(shell command -v npm),,nodejs npm)
EXPORT_NPM := gltf-validator@2.0.0-dev.3.10 @mcap/core@2.2.2
check-export: test-deps
	$(call install_packages,$(EXPORT_PACKAGES))
	@npm install --silent --no-fund --no-audit --prefix build/npm $(EXPORT_NPM)
	@NODE_PATH=$(CURDIR)/build/npm/node_modules NEED_NPM=1 $(MAKE) --no-print-directory TESTS=e2e/test_export test
	@tests/e2e/check_film.sh $(B)
compile_commands.json: export CC := $(CC)
compile_commands.json: export CXX := $(CXX)
compile_commands.json: export CPPFLAGS := $(CPPFLAGS)
compile_commands.json: export CFLAGS := $(CFLAGS)
compile_commands.json: export CXXFLAGS := -I/usr/include/imgui $(CXXFLAGS)
compile_commands.json: $(GENERATED) FORCE
	@python3 tests/tidy/compile_commands.py > $@
FORCE:
help:
	@sed -n '/^#/!q;s/^# \{0,1\}//p' Makefile
map:
	@python3 tests/tidy/map.py $(ROOM)
.PHONY: FORCE help map check check-format check-tidy check-deploy check-export deb deb-tree check-deb image install-dev docs golden all models arrivals tests test codec-tables deps test-deps check-asan check-tsan demo bench bench-peers fuzz fuzz-programs soak lint format install clean
