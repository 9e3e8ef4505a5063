/** Knows which output formats of audio this installation can make. */
export abstract class OutputFormats {
  abstract canMake(format: string): boolean;
}
