/** What is wrong with the settings of a network, in sentences for the operator. */
export interface StartCheck {
  /** With these settings no payment can work. */
  readonly problems: readonly string[];
  /** Something that may change while the settings stay: a node that does not answer, a fee payer without funds. */
  readonly warnings: readonly string[];
}
