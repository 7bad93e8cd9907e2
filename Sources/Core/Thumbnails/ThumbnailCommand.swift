/// A program in a sandbox that makes a thumbnail: its words. Pure.
///
/// bubblewrap gives it namespaces of its own, so that there is no network, no other process and no file but the system's
/// programs and libraries, read-only, and the one file that it is to look at; prlimit bounds what it may use. What it makes
/// it writes to its standard output.
package struct ThumbnailCommand: Equatable, Sendable {
    package enum Tool: Hashable, Sendable {
        /// libvips.
        case picture
        /// ffmpeg.
        case film

        /// What is run, and the Debian package that has it.
        package var program: (path: String, package: String) {
            switch self {
            case .picture: ("/usr/bin/vips", "libvips-tools")
            case .film: ("/usr/bin/ffmpeg", "ffmpeg")
            }
        }
    }

    /// What every command needs besides its tool.
    package static let foundations = [
        (path: "/usr/bin/bwrap", package: "bubblewrap"), (path: "/usr/bin/prlimit", package: "util-linux"),
    ]

    /// Bytes of memory, seconds of processor time, and processes that a program may use.
    package static let memoryLimit = 1 << 30
    package static let processorSeconds = 10
    static let processLimit = 32

    /// Absolute.
    package let path: String
    package let arguments: [String]

    /// Makes a thumbnail of a picture.
    /// - Parameter input: the file, absolute.
    package static func picture(_ input: String, into frame: ThumbnailFrame) -> ThumbnailCommand {
        var words = [
            "thumbnail", inside, ".jpg[Q=80,strip,background=255]", String(frame.size.width), "--height",
            String(frame.size.height), "--fail-on", "truncated",
        ]
        words += frame.isFilled ? ["--crop", "centre"] : ["--size", "down"]
        return ThumbnailCommand(tool: .picture, words: words, input: input)
    }

    /// Makes a PNG of a thumbnail.
    /// - Parameter input: the file, absolute.
    package static func png(_ input: String) -> ThumbnailCommand {
        ThumbnailCommand(tool: .picture, words: ["copy", inside, ".png[strip]"], input: input)
    }

    /// Makes a thumbnail of a film's first key frame.
    /// - Parameter input: the file, absolute; what is not needed of it may be a hole.
    package static func film(_ input: String, in container: MediaKind.FilmContainer) -> ThumbnailCommand {
        let side = PixelSize.thumbnailSide
        // The container is said, not guessed, and it may open nothing but the file: a list of other files is no film.
        let words = [
            "-nostdin", "-hide_banner", "-loglevel", "quiet", "-threads", "1", "-protocol_whitelist", "file",
            "-format_whitelist", container.rawValue, "-skip_frame", "nokey", "-f", container.rawValue, "-i",
            "file:" + inside, "-map", "0:v:0", "-an", "-sn", "-dn", "-frames:v", "1", "-vf",
            "scale=w=\(side):h=\(side):force_original_aspect_ratio=decrease,format=yuvj420p", "-f", "image2pipe",
            "-c:v",
            "mjpeg", "-q:v", "4", "pipe:1",
        ]
        return ThumbnailCommand(tool: .film, words: words, input: input)
    }

    /// Ends with 0 if the tool can be run in the sandbox.
    package static func trial(of tool: Tool) -> ThumbnailCommand {
        switch tool {
        case .picture: ThumbnailCommand(tool: tool, words: ["--version"], input: nil)
        case .film: ThumbnailCommand(tool: tool, words: ["-version"], input: nil)
        }
    }

    /// Where the file is in the sandbox.
    private static let inside = "/in"

    private init(tool: Tool, words: [String], input: String?) {
        path = Self.foundations[0].path
        let sandbox = [
            "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts",
            "--unshare-cgroup-try", "--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
            "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
            // Debian's libblas, which ffmpeg is linked with, is a link into this directory.
            "--ro-bind-try", "/etc/alternatives", "/etc/alternatives",
            "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache",
            "--dev", "/dev", "--remount-ro", "/dev", "--size", String(64 << 20), "--tmpfs", "/tmp", "--chdir", "/tmp",
            "--clearenv", "--setenv", "PATH", "/usr/bin", "--setenv", "HOME", "/tmp", "--setenv", "LC_ALL", "C.UTF-8",
            // libvips: one thread, and only the readers that its authors trust with what anybody wrote.
            "--setenv", "VIPS_CONCURRENCY", "1", "--setenv", "VIPS_BLOCK_UNTRUSTED", "1",
        ]
        let limits = [
            Self.foundations[1].path, "--as=\(Self.memoryLimit)", "--cpu=\(Self.processorSeconds)",
            "--nproc=\(Self.processLimit)", "--fsize=\(64 << 20)", "--nofile=64", "--core=0", "--",
        ]
        arguments =
            sandbox + (input.map { ["--ro-bind", $0, Self.inside] } ?? []) + ["--remount-ro", "/", "--"] + limits
            + [tool.program.path] + words
    }
}
