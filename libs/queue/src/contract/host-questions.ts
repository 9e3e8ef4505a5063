/** One model host: a process of a worker. It is gone when either has ended. */
export interface HostAddress {
  readonly processId: string;
  readonly modelId: string;
}

/**
 * A question from an api to a model host. `question` is JSON and must not be secret: the bus signs it but does not seal
 * it.
 */
export interface HostQuestion extends HostAddress {
  readonly question: object;
}

/** Answers a question; rejects with a `PlatformError`, which the asker gets. */
export type HostAnswerer = (question: HostQuestion) => Promise<object>;

/**
 * Asks one model host, by its address. The question goes over the bus, the answer over the reply channel of the asker,
 * sealed with the key of the model. Nothing is queued: a host that is not there does not answer.
 */
export interface HostQuestions {
  /**
   * Rejects with the error of the host, and with `SERVICE_UNAVAILABLE` when the store is unavailable or nothing came
   * within `timeoutMs`.
   */
  ask(question: HostQuestion, timeoutMs: number): Promise<object>;
  /** Answers questions to this process, which must have joined the cluster, until the returned function is called. */
  answer(answerer: HostAnswerer): Promise<() => void>;
}
