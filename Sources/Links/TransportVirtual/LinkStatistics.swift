/// What went over the radio in one direction.
public struct DirectionStatistics: Sendable, Equatable {
    /// Packets of the link layer that carried data, with those sent again.
    public var packets = 0
    /// Packets of the link layer that were sent again because they, or the word that they came, had not been heard.
    public var repeatedPackets = 0
    /// Empty packets: answers and acknowledgements.
    public var emptyPackets = 0
    /// Bytes on the air, empty packets and those sent again included.
    public var airBytes = 0
    /// Bytes of L2CAP frames that arrived, headers included: what a host's capture shows.
    public var frameBytes = 0
    /// Bytes of the stream that arrived.
    public var streamBytes = 0
    /// GATT writes or notifications that the hosts dropped, and that were overtaken.
    public var droppedDatagrams = 0
    public var reorderedDatagrams = 0

    public init() {}

    public static func += (sum: inout DirectionStatistics, other: DirectionStatistics) {
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
