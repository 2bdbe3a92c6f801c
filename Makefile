# minhash_lsh: README.md for use, src/README.md for the design, test/README.md for tests.

EXTENSION  = minhash_lsh
MODULE_big = $(EXTENSION)

# Where the sources are. Packagers build out of tree with make -f SRC/Makefile VPATH=SRC.
root := $(or $(VPATH),$(patsubst %/,%,$(dir $(firstword $(MAKEFILE_LIST)))))
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" $(root)/$(EXTENSION).control)

# The install script consists of parts, whose names contain no version. A build joins the parts in the order of their
# names.
DATA       = $(patsubst $(root)/%,%,$(wildcard $(root)/src/sql/*/$(EXTENSION)--*.sql))
SQL_PARTS  = $(sort $(wildcard $(root)/src/sql/[0-9]*.sql))
DATA_built = src/sql/$(EXTENSION)--$(EXTVERSION).sql

# sql/ and expected/ belong to pg_regress; every other test is under test/. If tests are named on the command line, only
# these run: REGRESS=bands, or ISOLATION=index_constraint. An empty list leaves out all tests of its kind.
ifeq ($(REGRESS)$(ISOLATION),)
REGRESS      = $(notdir $(basename $(sort $(wildcard $(root)/sql/*.sql))))
ISOLATION    = $(notdir $(basename $(sort $(wildcard $(root)/test/isolation/specs/*.spec))))
endif
REGRESS_OPTS = --load-extension=$(EXTENSION) --outputdir=build/regress --encoding=UTF8 --no-locale
ISOLATION_OPTS = --load-extension=$(EXTENSION) --outputdir=build/isolation --inputdir=$(root)/test/isolation
REGRESS_PREP = build/regress build/isolation

# Exceptions and RTTI are off: no C++ destructor may stand between an ereport and its handler. PostgreSQL 15 uses
# `register` in headers, which C++17 removed. test/tools/sanitized.sh sets SANITIZE.
PG_CPPFLAGS = -I$(root)/src -DMINHASH_VERSION='"$(EXTVERSION)"'
PG_CXXFLAGS = -std=c++20 -fno-exceptions -fno-rtti -fvisibility=hidden -Wno-register \
              -Wall -Wextra -Wno-unused-parameter $(SANITIZE)

# On hardened distributions (-D_GLIBCXX_ASSERTIONS), the library needs the C++ runtime. Elsewhere, --as-needed drops the
# runtime. The standard library's templates are visible whatever -fvisibility says, so the map hides them. pg/crew.cpp
# reads the library's build id.
SHLIB_LINK  = -lstdc++ -Wl,--build-id=sha1 -Wl,--version-script=$(root)/src/exports.map $(SANITIZE)

EXTRA_CLEAN = build $(OBJS:.o=.d)

# No bitcode for JIT: the extension's functions are so long that they gain nothing from being inlined into compiled
# queries.
override with_llvm = no

# check: the tests that take minutes; check-all: all; demo: near-duplicates among this machine's licence texts, or in
# DIR. These install what they need on a Debian machine, as root or with sudo; unit, kernels, arm, threads, fuzz, dist and deb
# need no PostgreSQL. All other goals are PGXS's or need what it builds.
WITHOUT_POSTGRES = check check-all demo unit kernels arm threads fuzz dist deb
.PHONY: $(WITHOUT_POSTGRES) bench bench-long lint tap sanitized asserted clang
ifeq ($(filter-out $(WITHOUT_POSTGRES),$(or $(MAKECMDGOALS),all)),)
check: ; test/check.sh
check-all: ; test/check.sh --short --long
demo: ; @DIR="$(DIR)" test/demo/demo.sh
else
PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
ifneq ($(shell test -e "$$($(PG_CONFIG) --includedir-server)/postgres.h" && echo yes),yes)
$(error no headers of a PostgreSQL server. Install them (Debian: postgresql-server-dev-NN), or name \
    another server by PG_CONFIG=/path/to/pg_config. make demo installs all that is needed)
endif

# src/core and src/bulk know nothing of PostgreSQL; src/pg is glue.
FOLDERS    = core bulk/* pg pg/* pg/*/*
SOURCES    = $(sort $(wildcard $(FOLDERS:%=$(root)/src/%/*.cpp)))
OBJS       = $(patsubst $(root)/%.cpp,%.o,$(SOURCES))

include $(PGXS)

ifeq ($(shell command -v $(firstword $(CXX))),)
ifneq ($(filter-out clean distclean uninstall,$(or $(MAKECMDGOALS),all)),)
$(error no C++ compiler "$(CXX)". Install g++ 12 or later (Debian: g++), or name another one by CXX=clang++)
endif
endif

# Assertions are on with sanitizers, and if the server checks its own assertions. Otherwise they are compiled out.
ifeq ($(SANITIZE)$(shell grep -s 'define USE_ASSERT_CHECKING' $$($(PG_CONFIG) --includedir-server)/pg_config.h),)
override CPPFLAGS += -DNDEBUG
endif

# The kernels in src/core/simd are compiled once per instruction set, which depends on the machine. targets.mk asks the
# compiler for the machine, and PGXS names the compiler. PGXS has read OBJS by now, so the library gets the new objects
# here.
include $(root)/src/core/simd/targets.mk
KERNEL_OBJS = $(KERNEL_TARGETS:%=src/core/simd/kernels_%.o)
OBJS       += $(KERNEL_OBJS)
$(shlib): $(KERNEL_OBJS)

ifneq ($(root),.)
$(shell mkdir -p $(sort $(dir $(OBJS) $(DATA_built))))
endif

$(DATA_built): $(SQL_PARTS) $(root)/src/sql/join.awk $(root)/$(EXTENSION).control
	awk -f $(root)/src/sql/join.awk $(SQL_PARTS) >$@

$(REGRESS_PREP):
	mkdir -p $@

# gcc vectorises at -O3 only; PGXS builds at -O2.
src/core/%.o src/bulk/%.o: override CXXFLAGS += -O3
$(KERNEL_OBJS): src/core/simd/kernels_%.o: src/core/simd/kernels.cpp
	$(COMPILE.cc) $(KERNEL_FLAGS_$*) -o $@ $<

# Distributions configure PostgreSQL without --enable-depend, so headers are tracked here.
$(OBJS): override CXXFLAGS += -MMD -MP

# module.o contains the extension's version, which comes from the control file.
src/pg/module.o: $(root)/$(EXTENSION).control

-include $(OBJS:.o=.d)
endif

# No output of tests may depend on how long they take.
installcheck: export PGOPTIONS += -c minhash_lsh.progress_interval=0

unit kernels arm threads fuzz: ; $(MAKE) -C $(root)/test $@
lint: all ; test/lint/all.sh
tap: ; test/tools/tap.sh $(PROVE_TESTS)
sanitized asserted clang: ; test/tools/$@.sh

# Debian packages for this release, or for SUITE, in a fresh chroot; needs root and debootstrap.
deb: ; test/tools/deb.sh $(SUITE)

# Makes an archive of the last commit for PGXN, with the same bytes wherever the archive is made. Needs git.
dist: ; TZ=UTC git archive --format=zip --prefix=$(EXTENSION)-$(EXTVERSION)/ -o $(EXTENSION)-$(EXTVERSION).zip HEAD

# Measures the core, then SQL on throw-away servers. Needs a quiet machine.
bench:
	$(MAKE) -C test bench bench-tools
	test/bench/sql_bench.sh build/test/make_texts
	test/bench/sets_bench.sh
	test/bench/lookup_bench.sh build/test/make_texts
	test/bench/upkeep_bench.sh build/test/make_texts
	test/bench/index_bench.sh build/test/make_texts
	test/bench/bulk_bench.sh build/test/make_pairs
	test/bench/contained_bench.sh build/test/make_texts
	test/bench/readme_bench.sh build/test/make_pairs

# The section `large` of index_bench.sh, with ten million signatures: takes half an hour and 16 GB of memory.
bench-long:
	$(MAKE) -C test bench-tools
	SHARED_BUFFERS=12GB test/bench/index_bench.sh build/test/make_texts 1000000 large
