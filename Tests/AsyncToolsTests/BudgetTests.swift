import Synchronization
import Testing

@testable import AsyncTools

@Suite(.timeLimit(.minutes(1))) struct BudgetTests {
    private final class Order: Sendable {
        private let state = Mutex<[String]>([])
        var names: [String] { state.withLock { $0 } }
        func append(_ name: String) { state.withLock { $0.append(name) } }
    }

    private func wait(until condition: () -> Bool) async { while !condition() { await Task.yield() } }

    private func take(_ name: String, _ count: Int, isUrgent: Bool = false, of budget: Budget, _ order: Order) async
        -> Task<Void, Never>
    {
        let waiting = budget.waiterCount
        let task = Task { if await budget.take(count, isUrgent: isUrgent) { order.append(name) } }
        await wait { budget.waiterCount > waiting || order.names.contains(name) }
        return task
    }

    @Test func theUrgentGoFirstAndTheOthersInTheirOrder() async {
        let (budget, order) = (Budget(limit: 10), Order())
        #expect(await budget.take(10))
        var tasks: [Task<Void, Never>] = []
        for (name, isUrgent) in [("first", false), ("second", false), ("urgent", true), ("urgent too", true)] {
            tasks.append(await take(name, 10, isUrgent: isUrgent, of: budget, order))
        }
        for count in 1...4 {
            budget.give(10)
            await wait { order.names.count == count }
        }
        for task in tasks { await task.value }
        #expect(order.names == ["urgent", "urgent too", "first", "second"])
    }

    @Test func moreThanThereCanEverBeIsAsMuchAsThereCanBe() async throws {
        let budget = Budget(limit: 100)
        try await budget.withUnits(1000) { #expect(!budget.takeIfFree(1)) }
        #expect(budget.takeIfFree(100))
    }

    /// The first of the line wants more than there is; once it is gone, those behind it do not wait for the next who gives back.
    @Test func whoIsBehindACancelledOneGoesOn() async {
        let (budget, order) = (Budget(limit: 100), Order())
        #expect(await budget.take(50))
        let large = await take("large", 100, of: budget, order)
        let small = await take("small", 10, of: budget, order)
        #expect(budget.waiterCount == 2)
        large.cancel()
        await small.value
        await large.value
        #expect(order.names == ["small"])
    }

    @Test func nobodyGetsAnythingOfAClosedOne() async {
        let (budget, order) = (Budget(limit: 1), Order())
        #expect(await budget.take(1))
        let waiting = await take("waiting", 1, of: budget, order)
        budget.close()
        await waiting.value
        #expect(order.names.isEmpty)
        budget.give(1)
        #expect(await !budget.take(1))
    }
}
