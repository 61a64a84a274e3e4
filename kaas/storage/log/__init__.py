"""Partition logs on disk.

Job: keep the batches of each partition in order, durably as its topic asks, for readers at any offset.

    <data>/topics/<topic>/<partition>/
        00000000000000000000.log        batches, back to back, in the segment that begins at this offset
        00000000000000000000.index      sparse: offset to position
        00000000000000000000.timeindex  sparse: time to offset
        00000000000000000000.txnindex   aborted transactions, if there are any
        checkpoint.json                 what is known to be on the disk, and what the bytes cannot tell

How it works
- `partition` is what the rest of the engine uses. It joins a `writer`, which only the appender thread touches, and a
  `view`, an unchanging snapshot that any thread reads from. The writer publishes a new view after the bytes are
  written; nobody locks.
- An append is admitted (`admission`), placed in a `draft`, written with one system call, and noted in its `segment`.
  The `state` (next offset, `producers`, `epochs`) runs ahead with the draft and is rolled back if the disk refuses.
- Opening (`recovery`) takes the state from the `checkpoint` and walks what lies behind it through the same `state`.
- What was written last is in memory (`recent`), for readers at the end of a log.
- `appender` is the thread; `housekeeping` the work that comes with time: `retention`, `compaction`, flushes, expired
  producers.
- `files` keeps the number of open files bounded; `index` keeps old indexes out of memory.

Read bottom-up: files, index, segment, state, draft, writer, view, partition, appender.
Must not know: topics' names, requests, asyncio.
"""
