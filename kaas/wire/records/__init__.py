"""Record batches of magic 2: the form in which records travel in Produce and Fetch, and lie in the log.

Job: read, check, rewrite and build batches, on bytes alone.
Rules:
- A batch is its 61 bytes of header and a payload. Most work needs the header only (`header`, `walk`, `validate`,
  `rewrite`); only who must look into records (`record`) pays for decompressing and decoding them.
- The checksum covers what follows it, not the base offset and the leader epoch: a broker gives a batch its place in
  the log without computing the checksum anew.
- Lengths and counts in a batch are claims. Nothing is allocated by a claim, and decompressed bytes have a limit.
- What cannot be read raises `KafkaError` with the code that a produce request is answered with.
Must not know: files, requests, topics.

    header    the header as data             varint   numbers of variable length
    walk      the batches of a buffer        codec    the four compressions
    validate  a batch that a client sends    record   single records, and batches built from them
    rewrite   a place, a time, a codec       control  the markers that end a transaction

Source: Kafka's page "Message Format" (KIP-98 for magic 2, KIP-534 for the delete horizon); answers to bad input as
Apache Kafka 4.2.
"""
