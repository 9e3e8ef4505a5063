const pollMs = 1_000;

/** Queues a job, polls until it is done and returns its file. The result is deleted from the product. */
export async function runQueued(client, kind, body) {
  const job = await client.post(`/${kind}/queue`, { body });
  const ticket = { model: job.model, queue_id: job.queue_id };
  for (;;) {
    const response = await client.post(`/${kind}/retrieve`, { body: ticket, __binaryResponse: true });
    const contentType = response.headers.get('content-type') ?? '';
    const bytes = Buffer.from(await response.arrayBuffer());
    if (!contentType.startsWith('application/json')) {
      await client.post(`/${kind}/complete`, { body: ticket });
      return { bytes, contentType };
    }
    const { status } = JSON.parse(bytes.toString('utf8'));
    if (status !== 'PROCESSING' && status !== 'QUEUED') throw new Error(`the job ended as ${status}`);
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
