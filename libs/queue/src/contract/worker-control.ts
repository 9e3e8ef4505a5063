/** What an operator tells one worker: to take no more jobs, or to take them again. */
export interface WorkerCommand {
  processId: string;
  action: 'drain' | 'resume';
}

/** Commands of operators for workers. Lossy: heartbeats show whether a worker follows. */
export interface WorkerControl {
  /** Rejects with the error of an unavailable store. */
  send(command: WorkerCommand): Promise<void>;
  /** Called for every command; the returned function unsubscribes. */
  subscribe(listener: (command: WorkerCommand) => void): () => void;
}
