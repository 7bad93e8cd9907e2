/// Names that name each other in a circle.
enum Circles {
    /// The strongly connected components of more than one name, each sorted, in the order of their first names.
    static func all(in mentions: [String: Set<String>]) -> [[String]] {
        var search = Search(mentions: mentions)
        for name in mentions.keys.sorted() where search.indexes[name] == nil { search.visit(name) }
        return search.circles.sorted { $0[0] < $1[0] }
    }

    /// Tarjan's algorithm.
    private struct Search {
        let mentions: [String: Set<String>]
        var indexes: [String: Int] = [:]
        var circles: [[String]] = []
        private var lowest: [String: Int] = [:]
        private var stack: [String] = []
        private var isOnStack: Set<String> = []

        init(mentions: [String: Set<String>]) { self.mentions = mentions }

        mutating func visit(_ name: String) {
            let index = indexes.count
            indexes[name] = index
            var low = index
            stack.append(name)
            isOnStack.insert(name)
            for other in mentions[name, default: []].sorted() where other != name {
                if let seen = indexes[other] {
                    if isOnStack.contains(other) { low = min(low, seen) }
                } else {
                    visit(other)
                    low = min(low, lowest[other] ?? low)
                }
            }
            lowest[name] = low
            guard low == index, let start = stack.lastIndex(of: name) else { return }
            let circle = Array(stack[start...])
            stack.removeSubrange(start...)
            isOnStack.subtract(circle)
            if circle.count > 1 { circles.append(circle.sorted()) }
        }
    }
}
