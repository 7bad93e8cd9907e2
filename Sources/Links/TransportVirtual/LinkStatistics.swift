/// What went over the radio in one direction.
package struct DirectionStatistics: Sendable, Equatable {
    /// Packets of the link layer that carried data, with those sent again.
    package var packets = 0
    /// Packets of the link layer that were sent again because they, or the word that they came, had not been heard.
    package var repeatedPackets = 0
    /// Empty packets: answers and acknowledgements.
    package var emptyPackets = 0
    /// Bytes on the air, empty packets and those sent again included.
    package var airBytes = 0
    /// Bytes of L2CAP frames that arrived, headers included: what a host's capture shows.
    package var frameBytes = 0
    /// Bytes of the stream that arrived.
    package var streamBytes = 0
    /// GATT writes or notifications that the hosts dropped, and that were overtaken.
    package var droppedDatagrams = 0
    package var reorderedDatagrams = 0

    package init() {}

    package static func += (sum: inout DirectionStatistics, other: DirectionStatistics) {
        sum.packets += other.packets
        sum.repeatedPackets += other.repeatedPackets
        sum.emptyPackets += other.emptyPackets
        sum.airBytes += other.airBytes
        sum.frameBytes += other.frameBytes
        sum.streamBytes += other.streamBytes
        sum.droppedDatagrams += other.droppedDatagrams
        sum.reorderedDatagrams += other.reorderedDatagrams
    }
}
