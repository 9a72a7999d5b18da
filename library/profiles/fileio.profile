about {files and disks: open, read, write, close by name; requests to disks}
kernel {process fileio diskio}
light {kernel {fileio}}
verbose {kernel {process fileio diskio hardfault virtualalloc} buffers 64,512}
