import BlockExchange
import SyncTestKit
import Testing

@testable import SyncDecisions

@Suite struct BlockSetTests {
    /// It holds what a set of integers holds.
    @Test(arguments: 0..<20) func behavesAsASet(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var (blocks, model) = (BlockSet(), Set<Int>())
        for _ in 0..<500 {
            let block = Int.random(in: 0..<300, using: &random)
            if Bool.random(using: &random) {
                let (isNew, isNewThere) = (blocks.insert(block), model.insert(block).inserted)
                #expect(isNew == isNewThere)
            } else {
                blocks.remove(block)
                model.remove(block)
            }
            #expect(blocks.count == model.count)
            #expect(blocks.contains(block) == model.contains(block))
        }
        #expect(blocks.indexes == model.sorted())
        #expect(blocks == BlockSet(model.shuffled(using: &random)), "equal, whatever was in it before")
        let other = Set((0..<100).map { _ in Int.random(in: 0..<400, using: &random) })
        #expect(blocks.subtracting(BlockSet(other)) == BlockSet(model.subtracting(other)))
        #expect(BlockSet(model.union(other)).isSuperset(of: blocks))
        #expect(blocks.isSuperset(of: BlockSet(other)) == model.isSuperset(of: other))
    }

    @Test(arguments: [-1, .min, .max, BlockSet.indexLimit]) func takesNoBlockThatNoFileHas(block: Int) {
        var blocks = BlockSet()
        let isTaken = blocks.insert(block)
        #expect(!isTaken)
        #expect(!blocks.contains(block))
        blocks.remove(block)
        #expect(blocks == BlockSet() && blocks.byteCount == 0)
    }
}
