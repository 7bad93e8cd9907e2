import CQREncode
import ControlAPI

/// A QR code as text for a terminal.
enum QRCode {
    /// Modules of the code for `text`, true for dark.
    static func modules(_ text: String) throws(ControlError) -> [[Bool]] {
        guard let code = QRcode_encodeString(text, 0, QR_ECLEVEL_L, QR_MODE_8, 1) else {
            throw ControlError(.failed, "\(text.utf8.count) bytes are too many for a QR code.")
        }
        defer { QRcode_free(code) }
        let width = Int(code.pointee.width)
        // The lowest bit of a module says whether it is dark.
        return (0..<width).map { row in (0..<width).map { code.pointee.data[row * width + $0] & 1 == 1 } }
    }

    /// Two rows to a line, light modules drawn and dark ones left out, with the four light modules around it that
    /// readers need. With colour it looks the same on light and dark terminals.
    static func lines(_ modules: [[Bool]], hasColor: Bool) -> [String] {
        let quiet = 4
        let size = modules.count + 2 * quiet
        func isLight(_ row: Int, _ column: Int) -> Bool {
            let (row, column) = (row - quiet, column - quiet)
            guard modules.indices.contains(row), modules[row].indices.contains(column) else { return true }
            return !modules[row][column]
        }
        return stride(from: 0, to: size, by: 2).map { row in
            let line = (0..<size).map { column in
                switch (isLight(row, column), row + 1 >= size || isLight(row + 1, column)) {
                case (true, true): "█"
                case (true, false): "▀"
                case (false, true): "▄"
                case (false, false): " "
                }
            }.joined()
            return hasColor ? "\u{1b}[97;40m\(line)\u{1b}[0m" : line
        }
    }
}
