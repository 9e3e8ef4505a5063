/** What is wrong with the settings of a network, in sentences for the operator. */
export interface StartCheck {
  /** With one of these no payment can work. */
  readonly problems: readonly string[];
  /** Payments work, but not for long. */
  readonly warnings: readonly string[];
}
