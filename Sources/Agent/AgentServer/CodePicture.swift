/// A QR code as a picture. Pure.
enum CodePicture {
    /// Light modules around the code, as readers need.
    private static let quiet = 4

    /// - Parameter modules: rows from the top, true for dark.
    static func svg(_ modules: [[Bool]]) -> [UInt8] {
        let size = modules.count + 2 * quiet
        var path = ""
        for (row, line) in modules.enumerated() {
            var column = 0
            while column < line.count {
                let end = line[column...].firstIndex { $0 != line[column] } ?? line.count
                if line[column] { path += "M\(column + quiet) \(row + quiet)h\(end - column)v1h-\(end - column)z" }
                column = end
            }
        }
        let head = #"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \#(size) \#(size)" "#
        let ground = #"<rect width="\#(size)" height="\#(size)" fill="white"/>"#
        return Array((head + #"shape-rendering="crispEdges">\#(ground)<path d="\#(path)" fill="black"/></svg>"#).utf8)
    }
}
