import Foundation
import Testing

@testable import MachineState

struct TrayIconTests {
    /// ARGB of one pixel.
    private func pixel(_ mark: TrayLook.Mark, side: Int, x: Int, y: Int) -> [UInt8] {
        let start = (y * side + x) * 4
        return Array(TrayIcon.pixels(mark, side: side)[start..<start + 4])
    }

    @Test func thePixelsAreThoseOfTheMark() {
        for side in TrayIcon.sizes { #expect(TrayIcon.pixels(.plain, side: side).count == side * side * 4) }
        // At 24 a pixel is a unit of the drawing.
        #expect(pixel(.plain, side: 24, x: 0, y: 0)[0] == 0, "outside")
        #expect(pixel(.plain, side: 24, x: 12, y: 13) == [255, 0x0b, 0x5c, 0xad], "the body")
        #expect(pixel(.plain, side: 24, x: 12, y: 8) == [255, 0xe8, 0xf2, 0xfb], "the window")
        #expect(pixel(.plain, side: 24, x: 12, y: 17)[0] > 0, "the track")
        #expect(pixel(.plain, side: 24, x: 12, y: 21)[0] == 0, "between the rails")
        #expect(pixel(.attention, side: 24, x: 21, y: 18) == [255, 0xc0, 0x39, 0x2b], "the badge")
    }

    @Test func eachStateHasItsOwnPicture() {
        #expect(Set(TrayLook.Mark.allCases.map { TrayIcon.pixels($0, side: 22) }).count == TrayLook.Mark.allCases.count)
    }

    /// What is installed for the icon theme is what is drawn here.
    @Test(arguments: TrayLook.Mark.allCases)
    func thePicturesOfTheThemeHaveTheSameShapes(mark: TrayLook.Mark) throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = root.appending(path: "packaging/\(mark == .plain ? "" : "icons/")\(mark.iconName).svg")
        let drawn = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").filter { line in
            ["<path", "<rect", "<circle"].contains { line.hasPrefix($0) }
        }
        #expect(drawn.map(String.init) == (TrayIcon.mark + TrayIcon.badge(mark)).map(\.svg))
    }
}

extension TrayIcon.Shape {
    fileprivate var svg: String {
        let fill = "#" + String(repeating: "0", count: 6 - String(color, radix: 16).count) + String(color, radix: 16)
        return switch form {
        case .rectangle(let x, let y, let width, let height, let radius):
            "<rect x=\"\(n(x))\" y=\"\(n(y))\" width=\"\(n(width))\" height=\"\(n(height))\" rx=\"\(n(radius))\" fill=\"\(fill)\"/>"
        case .circle(let x, let y, let radius):
            "<circle cx=\"\(n(x))\" cy=\"\(n(y))\" r=\"\(n(radius))\" fill=\"\(fill)\"/>"
        case .line(let points, let width):
            "<path d=\"M\(points.map { "\(n($0.x)) \(n($0.y))" }.joined(separator: "L"))\" fill=\"none\" "
                + "stroke=\"\(fill)\" stroke-width=\"\(n(width))\" stroke-linecap=\"round\" stroke-linejoin=\"round\"/>"
        }
    }

    private func n(_ number: Double) -> String {
        number == number.rounded() ? String(Int(number)) : String(number)
    }
}
