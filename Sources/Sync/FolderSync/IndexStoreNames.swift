import IndexStore

// Types of the index store whose names other modules use too. The module has a type of its own name, so that
// `IndexStore.FileStatus` cannot say which one is meant.

/// What the index knows a file on disk by.
package typealias IndexedStatus = FileStatus
typealias StoredPendingDevice = PendingDevice
typealias StoredPendingFolder = PendingFolder
