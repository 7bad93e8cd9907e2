import MessageBus

/// The brand mark as pixels, for desktops whose icon theme does not have it. Pure.
///
/// The shapes are those of packaging/synctrain.svg, in its units of 24 to a side.
enum TrayIcon {
    enum Form: Equatable {
        case rectangle(x: Double, y: Double, width: Double, height: Double, radius: Double)
        case circle(x: Double, y: Double, radius: Double)
        /// With round ends and joins.
        case line([(x: Double, y: Double)], width: Double)

        static func == (left: Form, right: Form) -> Bool { "\(left)" == "\(right)" }

        /// Whether a point is within.
        func holds(_ x: Double, _ y: Double) -> Bool {
            switch self {
            case .rectangle(let left, let top, let width, let height, let radius):
                // The distance to the rectangle that is smaller by the radius on each side.
                let dx = max(left + radius - x, x - (left + width - radius), 0)
                let dy = max(top + radius - y, y - (top + height - radius), 0)
                return dx * dx + dy * dy <= radius * radius
            case .circle(let centerX, let centerY, let radius):
                return (x - centerX) * (x - centerX) + (y - centerY) * (y - centerY) <= radius * radius
            case .line(let points, let width):
                return zip(points, points.dropFirst()).contains { start, end in
                    let (dx, dy) = (end.x - start.x, end.y - start.y)
                    let length = dx * dx + dy * dy
                    let along = length > 0 ? ((x - start.x) * dx + (y - start.y) * dy) / length : 0
                    let share = min(max(along, 0), 1)
                    let (offX, offY) = (x - start.x - share * dx, y - start.y - share * dy)
                    return offX * offX + offY * offY <= width * width / 4
                }
            }
        }
    }

    struct Shape: Equatable {
        var form: Form
        /// `0xRRGGBB`.
        var color: UInt32

        init(_ form: Form, _ color: UInt32) {
            self.form = form
            self.color = color
        }
    }

    static let units = 24.0
    /// What desktops show, and about twice that for dense screens.
    static let sizes = [22, 48]

    static let mark: [Shape] = [
        Shape(.line([(7.2, 21.5), (9.8, 17.5), (14.2, 17.5), (16.8, 21.5)], width: 1.6), 0x083f77),
        Shape(.rectangle(x: 4, y: 2.5, width: 16, height: 15, radius: 4), 0x0b5cad),
        Shape(.rectangle(x: 6.5, y: 5.5, width: 11, height: 6, radius: 1.5), 0xe8f2fb),
        Shape(.circle(x: 8, y: 14.5, radius: 1.2), 0xffd166), Shape(.circle(x: 16, y: 14.5, radius: 1.2), 0xffd166),
    ]

    /// What is drawn over the mark, in its lower right corner.
    static func badge(_ mark: TrayLook.Mark) -> [Shape] {
        func disc(_ color: UInt32) -> [Shape] {
            [Shape(.circle(x: 18, y: 18, radius: 6), 0xffffff), Shape(.circle(x: 18, y: 18, radius: 5), color)]
        }
        let white: UInt32 = 0xffffff
        return switch mark {
        case .plain: []
        case .working:
            // An arrow down.
            disc(0x1a7f4b) + [
                Shape(.line([(18, 15.3), (18, 20.5)], width: 1.4), white),
                Shape(.line([(15.8, 18.5), (18, 20.7), (20.2, 18.5)], width: 1.4), white),
            ]
        case .paused:
            disc(0x5c6670) + [
                Shape(.line([(16.6, 16), (16.6, 20)], width: 1.4), white),
                Shape(.line([(19.4, 16), (19.4, 20)], width: 1.4), white),
            ]
        case .attention:
            disc(0xc0392b) + [
                Shape(.line([(18, 15.2), (18, 18.4)], width: 1.6), white),
                Shape(.circle(x: 18, y: 20.7, radius: 0.9), white),
            ]
        }
    }

    /// ARGB with 8 bits each, the byte of alpha first, row by row from the top (StatusNotifierItem, "Icons").
    static func pixels(_ mark: TrayLook.Mark, side: Int) -> [UInt8] {
        let shapes = Self.mark + badge(mark)
        let steps = 4
        let step = units / Double(side * steps)
        var pixels: [UInt8] = []
        pixels.reserveCapacity(side * side * 4)
        for row in 0..<side {
            for column in 0..<side {
                var (covered, red, green, blue) = (0, 0, 0, 0)
                for part in 0..<steps * steps {
                    let x = (Double(column * steps + part % steps) + 0.5) * step
                    let y = (Double(row * steps + part / steps) + 0.5) * step
                    guard let color = shapes.last(where: { $0.form.holds(x, y) })?.color else { continue }
                    covered += 1
                    red += Int(color >> 16 & 0xff)
                    green += Int(color >> 8 & 0xff)
                    blue += Int(color & 0xff)
                }
                let count = max(covered, 1)
                pixels += [covered * 255 / (steps * steps), red / count, green / count, blue / count].map {
                    UInt8(clamping: $0)
                }
            }
        }
        return pixels
    }

    /// `a(iiay)`: the mark in each size.
    static func pixmaps(_ mark: TrayLook.Mark) -> BusValue {
        .array(
            element: "(iiay)",
            sizes.map { .structure([.int32(Int32($0)), .int32(Int32($0)), .bytes(pixels(mark, side: $0))]) })
    }
}
