dnl m4/etw.m4 --
dnl
dnl	The configure macros of etw: what TEA's tcl.m4 does for a package of this shape, in one
dnl	page. Option names are TEA's. Nothing here runs a program of the host.

dnl ETW_PLATFORM: sets PLATFORM (unix or windows) and the names that differ.
AC_DEFUN([ETW_PLATFORM], [
    # --host determines the platform; otherwise this machine. Two systems need no config.guess.
    case ${host_alias:-`uname -s`} in
    *mingw* | MINGW* | MSYS*) PLATFORM=windows PLATFORM_DIR=win EXEEXT=.exe SHLIB_SUFFIX=.dll PIC= ;;
    *linux* | Linux) PLATFORM=unix PLATFORM_DIR=unix EXEEXT= SHLIB_SUFFIX=.so PIC=-fPIC ;;
    *) AC_MSG_ERROR([etw is written for Linux and for Windows (mingw-w64), not for ${host_alias:-`uname -s`}]) ;;
    esac
    AC_SUBST([PLATFORM]) AC_SUBST([PLATFORM_DIR]) AC_SUBST([SHLIB_SUFFIX]) AC_SUBST([PIC])
])

dnl ETW_TCL: finds tclConfig.sh (--with-tcl=DIR, else the usual places), reads it, finds the headers
dnl (--with-tclinclude=DIR) and the private ones that script/hooks/tclint_hooks.c uses when it can.
AC_DEFUN([ETW_TCL], [
    AC_ARG_WITH([tcl], AS_HELP_STRING([--with-tcl=DIR], [directory of tclConfig.sh]),
        [etw_tcl_dirs=$withval], [
            etw_tcl_dirs="$libdir /usr/lib/`$CC -print-multiarch 2>/dev/null` /usr/lib64 /usr/lib
                /usr/lib/tcl8.6 /usr/lib/tcl9.0 /usr/local/lib"
        ])
    AC_ARG_WITH([tclinclude], AS_HELP_STRING([--with-tclinclude=DIR], [directory of tcl.h]))
    AC_MSG_CHECKING([for tclConfig.sh])
    etw_tcl_config=
    for dir in $etw_tcl_dirs; do
        for name in "$dir" "$dir/tclConfig.sh" "$dir/lib/tclConfig.sh"; do
            if test -z "$etw_tcl_config" && test -f "$name"; then
                etw_tcl_config=$name
            fi
        done
    done
    if test -z "$etw_tcl_config"; then
        AC_MSG_ERROR([not found in: $etw_tcl_dirs. Install Tcl's development files (Debian: tcl-dev), or say --with-tcl=DIR])
    fi
    AC_MSG_RESULT([$etw_tcl_config])
    . "$etw_tcl_config"

    if test -n "$with_tclinclude"; then
        TCL_INCLUDES="-I$with_tclinclude"
        etw_tcl_include=$with_tclinclude
    else
        TCL_INCLUDES=$TCL_INCLUDE_SPEC
        etw_tcl_include=`echo "$TCL_INCLUDE_SPEC" | sed 's/^-I//; s/ .*//'`
    fi
    AC_MSG_CHECKING([for tcl.h of Tcl $TCL_VERSION])
    etw_save_cppflags=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $TCL_INCLUDES"
    AC_PREPROC_IFELSE([AC_LANG_SOURCE([[
#include <tcl.h>
#if TCL_MAJOR_VERSION < 8 || (TCL_MAJOR_VERSION == 8 && TCL_MINOR_VERSION < 6)
#error too old
#endif
#if TCL_MAJOR_VERSION != $TCL_MAJOR_VERSION || TCL_MINOR_VERSION != $TCL_MINOR_VERSION
#error not of that tclConfig.sh
#endif]])],
        [AC_MSG_RESULT([$etw_tcl_include])],
        [AC_MSG_ERROR([no tcl.h that fits $etw_tcl_config (8.6 or later): say --with-tclinclude=DIR])])
    CPPFLAGS=$etw_save_cppflags
    ETW_TCL_PRIVATE

    # Binaries for Tcl 8 and Tcl 9 have different names and are in the same directory.
    case $PLATFORM in
    unix) PKG_LIB_8=libetw$PACKAGE_VERSION.so PKG_LIB_9=libtcl9etw$PACKAGE_VERSION.so ;;
    windows)
        PKG_LIB_8=etw`echo $PACKAGE_VERSION | tr -d .`.dll
        PKG_LIB_9=tcl9etw`echo $PACKAGE_VERSION | tr -d .`.dll
        ;;
    esac
    case $TCL_MAJOR_VERSION in
    8) PKG_LIB=$PKG_LIB_8 ;;
    *) PKG_LIB=$PKG_LIB_9 ;;
    esac
    AC_SUBST([PKG_LIB]) AC_SUBST([PKG_LIB_8]) AC_SUBST([PKG_LIB_9])

    # The tclsh of that Tcl, and how to run it on this machine.
    if test $PLATFORM = windows; then
        etw_tclsh=$TCL_EXEC_PREFIX/bin/tclsh$TCL_MAJOR_VERSION$TCL_MINOR_VERSION.exe
    else
        etw_tclsh=$TCL_EXEC_PREFIX/bin/tclsh$TCL_VERSION
    fi
    test -n "$TCLSH_PROG" || TCLSH_PROG=$etw_tclsh
    if test $PLATFORM = windows && test "`uname -s`" = Linux; then
        for name in /usr/lib/wine/wine64 /usr/bin/wine64 /usr/bin/wine; do
            test -z "$WINE" && test -x $name && WINE=$name
        done
        AC_PATH_PROGS([BUILD_TCLSH], [tclsh tclsh8.6 tclsh9.0], [tclsh])
    else
        WINE=
        BUILD_TCLSH=$TCLSH_PROG
    fi
    AC_ARG_VAR([TCLSH_PROG], [tclsh that runs the tests])
    ETW_TCL_PACKAGES
    AC_ARG_VAR([DOC_TCLSH], [tclsh with tcllib's doctools, for man pages])
    AC_MSG_CHECKING([for doctools])
    if test -z "$DOC_TCLSH"; then
        for name in "$BUILD_TCLSH" tclsh tclsh8.6 tclsh9.0; do
            if test -z "$DOC_TCLSH" && test "`echo 'puts [[package require doctools]]' | $name 2>/dev/null`" != ""; then
                DOC_TCLSH=$name
            fi
        done
    fi
    AC_MSG_RESULT([${DOC_TCLSH:-no: man pages are not built (Debian: tcllib)}])
    AC_ARG_VAR([WINE], [what runs Windows programs when cross-compiling])
    AC_SUBST([BUILD_TCLSH])
    AC_SUBST([TCL_VERSION]) AC_SUBST([TCL_MAJOR_VERSION]) AC_SUBST([TCL_INCLUDES])
    AC_SUBST([TCL_DEFS]) AC_SUBST([TCL_STUB_LIB_SPEC])
])

dnl ETW_TCL_PACKAGES: TCL_PACKAGES, the directory below the prefix that tclsh searches for packages: the deepest of
dnl its auto_path. libdir when it was given, when no tclsh runs here, or when tclsh searches nothing below the prefix.
AC_DEFUN([ETW_TCL_PACKAGES], [
    AC_MSG_CHECKING([where tclsh finds packages])
    TCL_PACKAGES='${libdir}'
    if test $PLATFORM = unix && test "$libdir" = '${exec_prefix}/lib'; then
        etw_deepest=
        eval "etw_lib=\"$exec_prefix/lib\""
        for dir in `echo 'puts $auto_path' | env -u TCLLIBPATH $TCLSH_PROG 2>/dev/null`; do
            case $dir in
            */tcl8.@<:@0-9@:>@ | */tcl9.@<:@0-9@:>@) ;; # Tcl's own
            "$etw_lib" | "$etw_lib"/*)
                test ${#dir} -gt ${#etw_deepest} && etw_deepest=$dir
                ;;
            esac
        done
        test -n "$etw_deepest" && TCL_PACKAGES='${exec_prefix}/lib'${etw_deepest#"$etw_lib"}
    fi
    AC_MSG_RESULT([${etw_deepest:-$TCL_PACKAGES}])
    AC_SUBST([TCL_PACKAGES])
])

dnl ETW_TCL_PRIVATE: TCL_PRIVATE_INCLUDES, TCL_PRIVATE_DEFS; empty when tclInt.h cannot be used.
AC_DEFUN([ETW_TCL_PRIVATE], [
    AC_MSG_CHECKING([for tclInt.h])
    TCL_PRIVATE_INCLUDES= TCL_PRIVATE_DEFS=
    for dir in "$TCL_SRC_DIR" "$etw_tcl_include/tcl-private" "$etw_tcl_include"; do
        for generic in "$dir/generic" "$dir"; do
            if test -z "$TCL_PRIVATE_INCLUDES" && test -f "$generic/tclInt.h"; then
                etw_flags="-isystem $generic -isystem $dir/$PLATFORM_DIR"
                test -d "$dir/libtommath" && etw_flags="$etw_flags -isystem $dir/libtommath"
                echo '#include <tclInt.h>
int main(void) { return sizeof(Interp) == sizeof(Command); }' >conftest.c
                # eval: TCL_DEFS contains quotes that the shell must interpret, as in make's recipes.
                if eval "$CC $TCL_INCLUDES $etw_flags $TCL_DEFS -c conftest.c -o conftest.o" >&AS_MESSAGE_LOG_FD 2>&1; then
                    TCL_PRIVATE_INCLUDES=$etw_flags
                    TCL_PRIVATE_DEFS="-DETW_HAVE_TCLINT=1 $TCL_DEFS"
                fi
                rm -f conftest.c conftest.o
            fi
        done
    done
    AC_MSG_RESULT([${TCL_PRIVATE_INCLUDES:-no: scripts are traced through the public API only, at its cost}])
    AC_SUBST([TCL_PRIVATE_INCLUDES]) AC_SUBST([TCL_PRIVATE_DEFS])
])

dnl ETW_LIBRARY(VAR, module, Debian package): a required one, through pkg-config.
AC_DEFUN([ETW_LIBRARY], [
    AC_MSG_CHECKING([for $2])
    if $PKG_CONFIG --exists $2 2>/dev/null; then
        $1_CFLAGS=`$PKG_CONFIG --cflags $2`
        $1_LIBS=`$PKG_CONFIG --libs $2`
        etw_version=`$PKG_CONFIG --modversion $2`
        AC_MSG_RESULT([$etw_version])
    else
        AC_MSG_RESULT([no])
        AC_MSG_ERROR([$2 not found: install it (Debian: apt-get install $3), or run sh tools/deps.sh build])
    fi
    AC_SUBST([$1_CFLAGS]) AC_SUBST([$1_LIBS])
])

dnl ETW_OPTIONAL_LIBRARY(VAR, module, Debian package, what is missing without it): ETW_HAVE_VAR, through pkg-config.
AC_DEFUN([ETW_OPTIONAL_LIBRARY], [
    AC_MSG_CHECKING([for $2])
    if $PKG_CONFIG --exists $2 2>/dev/null; then
        $1_CFLAGS=`$PKG_CONFIG --cflags $2`
        $1_LIBS=`$PKG_CONFIG --libs $2`
        ETW_DEFS="$ETW_DEFS -DETW_HAVE_$1=1"
        etw_version=`$PKG_CONFIG --modversion $2`
        AC_MSG_RESULT([$etw_version])
    else
        AC_MSG_RESULT([no: $4 (Debian: $3)])
    fi
    AC_SUBST([$1_CFLAGS]) AC_SUBST([$1_LIBS])
])

dnl ETW_HEADER(VAR, header, Debian package): an optional one without a library.
AC_DEFUN([ETW_HEADER], [
    AC_MSG_CHECKING([for $2])
    echo '#include <$2>' >conftest.c
    if $CC $CPPFLAGS -E conftest.c >/dev/null 2>&AS_MESSAGE_LOG_FD; then
        AC_MSG_RESULT([yes])
        ETW_DEFS="$ETW_DEFS -DETW_HAVE_$1=1"
    else
        AC_MSG_RESULT([no (Debian: $3)])
    fi
    rm -f conftest.c
])

dnl ETW_STATIC_LIBRARY(VAR, name, header, flags): a library whose archive is linked, so that the DLL
dnl needs nothing that Windows lacks. In the compiler's own places or below --with-NAME=DIR.
AC_DEFUN([ETW_STATIC_LIBRARY], [
    AC_ARG_WITH([$2], AS_HELP_STRING([--with-$2=DIR], [Windows: where include/$3 and lib/lib$2.a are]))
    AC_MSG_CHECKING([for lib$2.a])
    $1_CFLAGS="${with_$2:+-I$with_$2/include} $4"
    $1_LIBS="${with_$2:+-L$with_$2/lib} -l:lib$2.a"
    printf '#include <$3>\nint main(void) { return 0; }\n' >conftest.c
    if $CC $$1_CFLAGS conftest.c -o conftest.exe $$1_LIBS >&AS_MESSAGE_LOG_FD 2>&1; then
        AC_MSG_RESULT([yes])
    else
        AC_MSG_ERROR([no lib$2.a with $3: say --with-$2=DIR, or run sh tools/build-windows.sh])
    fi
    rm -f conftest.c conftest.exe
    AC_SUBST([$1_CFLAGS]) AC_SUBST([$1_LIBS])
])

dnl ETW_OPTIONAL_STATIC_LIBRARY(VAR, name, header, what is missing without it): the same, and ETW_HAVE_VAR if it is there.
AC_DEFUN([ETW_OPTIONAL_STATIC_LIBRARY], [
    AC_ARG_WITH([$2], AS_HELP_STRING([--with-$2=DIR], [Windows: where include/$3 and lib/lib$2.a are]))
    AC_MSG_CHECKING([for lib$2.a])
    $1_CFLAGS="${with_$2:+-I$with_$2/include}"
    $1_LIBS="${with_$2:+-L$with_$2/lib} -l:lib$2.a"
    printf '#include <$3>\nint main(void) { return 0; }\n' >conftest.c
    if $CC $$1_CFLAGS conftest.c -o conftest.exe $$1_LIBS >&AS_MESSAGE_LOG_FD 2>&1; then
        ETW_DEFS="$ETW_DEFS -DETW_HAVE_$1=1"
        AC_MSG_RESULT([yes])
    else
        $1_CFLAGS= $1_LIBS=
        AC_MSG_RESULT([no: $4 (--with-$2=DIR, or sh tools/build-windows.sh)])
    fi
    rm -f conftest.c conftest.exe
    AC_SUBST([$1_CFLAGS]) AC_SUBST([$1_LIBS])
])

dnl ETW_FLAGS: the switches that only change compiler flags.
AC_DEFUN([ETW_FLAGS], [
    AC_ARG_ENABLE([symbols], AS_HELP_STRING([--enable-symbols], [debug build: -O0 -g]))
    AC_ARG_ENABLE([werror], AS_HELP_STRING([--enable-werror], [warnings are errors]))
    AC_ARG_ENABLE([sanitize], AS_HELP_STRING([--enable-sanitize=LIST],
        [address,undefined or thread: build with sanitizers]))
    AC_ARG_ENABLE([testpoints], AS_HELP_STRING([--enable-testpoints],
        [compile in the points where a test can stop a writer (slow: tests only)]))
    AC_ARG_ENABLE([64bit], AS_HELP_STRING([--enable-64bit], [accepted for TEA's sake: always so]))
    AC_ARG_ENABLE([threads], AS_HELP_STRING([--enable-threads], [accepted for TEA's sake: always so]))
    AC_ARG_ENABLE([shared], AS_HELP_STRING([--enable-shared], [accepted for TEA's sake: always so]))
    if test "$enable_shared" = no; then
        AC_MSG_ERROR([etw is a loadable package: --disable-shared is not supported])
    fi
    if test -z "$etw_user_cflags"; then
        CFLAGS="-O2 -g"
        test "${enable_symbols:-no}" != no && CFLAGS="-O0 -g3"
    fi
    ETW_CFLAGS="-std=gnu11 -Wall -Wextra -Wshadow"
    # C99's printf also on Windows. gcc would check formats by Microsoft's rules there; the Linux build checks the
    # same lines.
    test $PLATFORM = windows && ETW_CFLAGS="$ETW_CFLAGS -D__USE_MINGW_ANSI_STDIO=1 -Wno-format"
    test "${enable_werror:-no}" != no && ETW_CFLAGS="$ETW_CFLAGS -Werror"
    test "${enable_testpoints:-no}" != no && ETW_CFLAGS="$ETW_CFLAGS -DETW_TEST_POINTS=1"
    SANITIZE=
    if test "${enable_sanitize:-no}" != no; then
        SANITIZE=$enable_sanitize
        test "$SANITIZE" = yes && SANITIZE=address,undefined
        # A finding ends the program, so that tests cannot miss it.
        ETW_CFLAGS="$ETW_CFLAGS -fsanitize=$SANITIZE -fno-omit-frame-pointer -fno-sanitize-recover=all"
        # gcc warns of fences, which its thread sanitizer ignores. clang does not have the option.
        case "$SANITIZE $CC" in
        *clang*) ;;
        *thread*) ETW_CFLAGS="$ETW_CFLAGS -Wno-tsan" ;;
        esac
    fi
    AC_SUBST([ETW_CFLAGS]) AC_SUBST([SANITIZE])
])
