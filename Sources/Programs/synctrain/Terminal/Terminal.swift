import Foundation
import Glibc

/// What the standard streams are connected to.
struct Terminal: Sendable {
    var isInputTTY: Bool
    var isOutputTTY: Bool
    var isErrorTTY: Bool
    /// Columns.
    var width: Int
    /// Lines on the screen now; nil if unknown.
    var height: @Sendable () -> Int? = { nil }
    /// One line of standard input without its line feed.
    var readLine: @Sendable () -> String?
    /// As `readLine`, but given up when the task is cancelled. Not to be mixed with it in one command.
    var nextLine: @Sendable () async throws -> String? = { nil }
    /// Forgets what was typed and not yet read, so that it answers no question that was not asked then.
    var discardInput: @Sendable () -> Void = {}
    /// Whether what is typed is shown.
    var setEcho: @Sendable (Bool) -> Void = { _ in }
    /// Whether each key is handed over at once and not shown; Ctrl-C interrupts as ever.
    var setKeys: @Sendable (Bool) -> Void = { _ in }
    /// What `setKeys` hands over; nil at the end of the input. Given up when the task is cancelled.
    var nextKey: @Sendable () async throws -> UInt8? = { nil }

    static var live: Terminal {
        var size = winsize()
        let hasSize = [STDOUT_FILENO, STDERR_FILENO].contains { descriptor in
            ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
        }
        let input = InputLines()
        return Terminal(
            isInputTTY: isatty(STDIN_FILENO) == 1, isOutputTTY: isatty(STDOUT_FILENO) == 1,
            isErrorTTY: isatty(STDERR_FILENO) == 1, width: hasSize ? Int(size.ws_col) : 80,
            height: height, readLine: { Swift.readLine() }, nextLine: input.next,
            discardInput: { tcflush(STDIN_FILENO, TCIFLUSH) }, setEcho: setEcho, setKeys: setKeys,
            nextKey: input.nextByte)
    }

    @Sendable private static func height() -> Int? {
        var size = winsize()
        return ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_row > 0 ? Int(size.ws_row) : nil
    }

    @Sendable private static func setEcho(_ isOn: Bool) {
        var state = termios()
        guard tcgetattr(STDIN_FILENO, &state) == 0 else { return }
        if isOn { state.c_lflag |= tcflag_t(ECHO) } else { state.c_lflag &= ~tcflag_t(ECHO) }
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &state)
    }

    @Sendable private static func setKeys(_ isOn: Bool) {
        var state = termios()
        guard tcgetattr(STDIN_FILENO, &state) == 0 else { return }
        let flags = tcflag_t(ECHO) | tcflag_t(ICANON)
        if isOn { state.c_lflag &= ~flags } else { state.c_lflag |= flags }
        tcsetattr(STDIN_FILENO, TCSANOW, &state)
    }

    static var liveVariables: [String: String] { ProcessInfo.processInfo.environment }

    static var liveWorkingDirectory: String {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return String(cString: path)
    }

    /// Colour on standard output: `always` and `never` decide alone; `auto` needs a terminal that is not dumb and no
    /// `NO_COLOR`.
    func hasColor(_ choice: ColorChoice, variables: [String: String]) -> Bool {
        switch choice {
        case .always: true
        case .never: false
        case .auto: isOutputTTY && !Self.isDumb(variables) && (variables["NO_COLOR"] ?? "").isEmpty
        }
    }

    /// Whether a line on standard error can be drawn over.
    func hasProgress(variables: [String: String]) -> Bool { isErrorTTY && !Self.isDumb(variables) }

    /// Whether a person sees what is drawn over and may press keys.
    func isLive(variables: [String: String]) -> Bool { isInputTTY && isOutputTTY && !Self.isDumb(variables) }

    private static func isDumb(_ variables: [String: String]) -> Bool { variables["TERM"] == "dumb" }
}
