import BlockExchange

/// How much may be requested at a time, of all devices together: pure.
///
/// The requests to a device wait only for others to the same device. The first goes at once, however much is under way elsewhere;
/// the device gets more while that makes at most two thirds of what the other devices leave. So a device that answers nothing
/// delays nobody, and leaves room for all others, each of which leaves some for the next. More than the limit is under way only
/// where a first request exceeds it: by one request of each kind to each device at most.
///
/// What a person waits for is counted apart, goes first, and has the reserve for itself.
package struct FetchBudget: Sendable {
    /// The requests of one kind to a device.
    private struct Lane: Hashable, Sendable {
        var device: DeviceID
        var isUrgent: Bool
    }

    private struct Request {
        var id: Int
        var lane: Lane
        var byteCount: Int
    }

    private let limit: Int
    private let reserve: Int
    private var underWay: [Int: Request] = [:]
    /// Of each lane, how many requests are under way, and how many bytes they ask for.
    private var used: [Lane: (requestCount: Int, byteCount: Int)] = [:]
    /// What waits, in order.
    private var lines: [Lane: [Request]] = [:]
    /// The lanes in which something waits. Of those of one kind the first that may goes next, and is the last from then on.
    private var order: [Lane] = []
    private var lastID = 0
    /// Bytes that are under way.
    package private(set) var byteCount = 0

    /// - Parameters:
    ///   - limit: bytes.
    ///   - reserve: how much of the limit is for what a person waits for only.
    package init(limit: Int, reserve: Int = 0) {
        self.limit = max(0, limit)
        self.reserve = min(max(0, reserve), self.limit)
    }

    /// How many requests wait.
    package var waitingCount: Int { lines.values.reduce(0) { $0 + $1.count } }

    /// A name for the next request.
    package mutating func takeID() -> Int {
        lastID += 1
        return lastID
    }

    /// Puts a request into line; `next` says when it may go.
    package mutating func add(_ id: Int, _ byteCount: Int, to device: DeviceID, isUrgent: Bool) {
        let lane = Lane(device: device, isUrgent: isUrgent)
        if lines[lane] == nil { order.append(lane) }
        lines[lane, default: []].append(Request(id: id, lane: lane, byteCount: max(0, byteCount)))
    }

    /// A request that may go now, which is under way from then on; nil if there is none.
    package mutating func next() -> Int? {
        guard let place = place(isUrgent: true) ?? place(isUrgent: false) else { return nil }
        let lane = order.remove(at: place)
        guard var line = lines[lane], !line.isEmpty else { return nil }
        let request = line.removeFirst()
        lines[lane] = line.isEmpty ? nil : line
        if !line.isEmpty { order.append(lane) }
        underWay[request.id] = request
        add(1, request.byteCount, to: lane)
        return request.id
    }

    /// A request has ended, or does not wait any more.
    package mutating func end(_ id: Int) {
        if let request = underWay.removeValue(forKey: id) { return add(-1, -request.byteCount, to: request.lane) }
        for (lane, line) in lines {
            guard let place = line.firstIndex(where: { $0.id == id }) else { continue }
            lines[lane]?.remove(at: place)
            guard line.count == 1 else { return }
            lines[lane] = nil
            return order.removeAll { $0 == lane }
        }
    }

    private func place(isUrgent: Bool) -> Int? {
        order.firstIndex { lane in
            lane.isUrgent == isUrgent && lines[lane]?.first.map { mayGo($0.byteCount, in: lane) } == true
        }
    }

    private func mayGo(_ count: Int, in lane: Lane) -> Bool {
        guard let own = used[lane] else { return true }
        // bounded: as many requests as there are tasks, of a block each
        let left = (lane.isUrgent ? limit : limit - reserve) - (byteCount - own.byteCount)
        return own.byteCount + count <= left / 3 * 2
    }

    private mutating func add(_ requestCount: Int, _ count: Int, to lane: Lane) {
        let before = used[lane] ?? (0, 0)
        // bounded: as many requests as there are tasks, of a block each
        byteCount += count
        used[lane] =
            before.requestCount + requestCount == 0
            ? nil : (before.requestCount + requestCount, before.byteCount + count)
    }
}
