import AgentConfiguration
import IndexStore
import Phrases

/// What the index looks like while no agent runs.
package enum IndexProbe {
    /// Why an agent could not open it, with what to do; nil if nothing is in the way. Reads only.
    package static func obstacle(_ places: AgentPlaces) -> Phrase? {
        IndexStore.obstacle(path: places.index)?.text
    }
}
