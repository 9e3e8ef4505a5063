const mebibyte = 2 ** 20;

export interface DecoderLimits {
  /** Time of one image, in ms. */
  timeoutMs: number;
  /** All memory of a process; watched on Linux. */
  maxResidentBytes: number;
  /** Private memory that the kernel allows. Stacks of threads and reserved heaps count before they are used. */
  memoryBytes: number;
  /** Processor time of one image. A process is replaced when it has less left. */
  cpuSeconds: number;
  /** Images after which a process is replaced: what a file that has taken it over can see and change of others. */
  maxImages: number;
}

/** The largest image that a route accepts, in 16 bits, interlaced and turned, takes 0.7 GB. */
export const defaultDecoderLimits: DecoderLimits = {
  timeoutMs: 30_000,
  maxResidentBytes: 1_024 * mebibyte,
  memoryBytes: 1_536 * mebibyte,
  cpuSeconds: 30,
  maxImages: 64,
};

/** JavaScript objects in MB; images are outside. */
export const heapMegabytes = 64;
/** Images that one process can decode, if each takes its whole processor time. */
export const imagesPerProcess = 3;
export const openFiles = 64;
