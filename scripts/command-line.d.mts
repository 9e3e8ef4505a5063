/**
 * One option: a number or string with such a `default`; a number or null with `isNumber`; a string or null with only a
 * placeholder; otherwise a switch.
 */
export interface CommandOption {
  /** Text for `--help`; the default is appended. */
  about: string;
  /** Placeholder of the value in `--help`, such as `N` or `DIR`. */
  value?: string;
  default?: number | string | readonly string[];
  /** Of an option without a default. */
  isNumber?: true;
  /** May be repeated; the value is a list. */
  isRepeated?: true;
}

export type CommandOptions = Record<string, CommandOption>;

type ValueOf<Option extends CommandOption> = Option extends { isRepeated: true }
  ? string[]
  : Option extends { default: number }
    ? number
    : Option extends { default: string }
      ? string
      : Option extends { isNumber: true }
        ? number | null
        : Option extends { value: string }
          ? string | null
          : boolean;

export type CommandValues<Options extends CommandOptions> = { [Name in keyof Options]: ValueOf<Options[Name]> };

/** Words that are no options; omitted: there are none. */
export interface WordOptions {
  /** What a word names, for the error. */
  name?: string;
  /** Omitted: any. */
  known?: readonly string[];
}

export interface CommandLine<Options extends CommandOptions> {
  values: CommandValues<Options>;
  words: string[];
}

export declare class CommandLineError extends Error {}

export declare function readCommandLine<const Options extends CommandOptions>(
  about: string,
  options?: Options,
  wordOptions?: WordOptions,
): CommandLine<Options>;

export declare function parseCommandLine<const Options extends CommandOptions>(
  options: Options,
  args: readonly string[],
  wordOptions?: WordOptions,
): CommandLine<Options> | null;

export declare function commandHelp(about: string, options: CommandOptions): string;
