# browser.tcl --
#
#	Headless Chromium for tests: the DOM of a page after its scripts have run. Sourced after support.tcl.

namespace eval testing {
    namespace export browse fileUrl
}

# The DOM of URL as text. Chromium gets its own profile and no sanitizer libraries.
proc testing::browse {url args} {
    variable tmpDir
    set profile [tempDir]
    # HOME may be missing or not writable, so Chromium gets another one.
    return [exec env -u LD_PRELOAD HOME=$profile timeout 120 chromium --headless --no-sandbox --no-first-run \
        --disable-gpu --disable-dev-shm-usage --use-gl=angle --use-angle=swiftshader --enable-unsafe-swiftshader \
        --user-data-dir=[file join $profile chromium] --virtual-time-budget=20000 {*}$args --dump-dom $url 2>/dev/null]
}

proc testing::fileUrl {path} {
    return file://[file normalize $path]
}

testConstraint chromium [expr {[testConstraint linux] && [auto_execok chromium] ne ""
    && ![catch {testing::browse data:text/html,<p>here</p>} page] && [string match *here* $page]}]

namespace import -force ::testing::browse ::testing::fileUrl
