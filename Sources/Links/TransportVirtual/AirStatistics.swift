/// What went over an air since it was opened.
package struct AirStatistics: Sendable, Equatable {
    /// Connections that came about, and those of them that were lost rather than closed by a device.
    package var connections = 0
    package var lostConnections = 0
    package var openConnections = 0
    /// What each device has sent to each other one, by `SENDER>RECEIVER`.
    package var directions: [String: DirectionStatistics] = [:]

    package init() {}

    /// Everything that was sent from any device.
    package var total: DirectionStatistics {
        directions.values.reduce(into: DirectionStatistics()) { $0 += $1 }
    }

    /// One JSON document in a line; names on the air hold nothing that would have to be escaped.
    package var json: String {
        let directions = directions.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value.json)" }
        return "{\"connections\":\(connections),\"lost\":\(lostConnections),\"open\":\(openConnections),"
            + "\"directions\":{\(directions.joined(separator: ","))}}"
    }
}

extension DirectionStatistics {
    fileprivate var json: String {
        let fields = [
            ("packets", packets), ("repeatedPackets", repeatedPackets), ("emptyPackets", emptyPackets),
            ("airBytes", airBytes), ("frameBytes", frameBytes), ("streamBytes", streamBytes),
            ("droppedDatagrams", droppedDatagrams), ("reorderedDatagrams", reorderedDatagrams),
        ]
        return "{" + fields.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
    }
}
