// The client of the service whose API this is: tops up by itself when a chat is refused, and chats. SLUICE_TEST_CLIENT:
// `{ origin, model, privateKey }`; prints what it got.
import { VeniceClient } from 'venice-x402-client';
import { chatBody, printResults, readSettings, refusalOf } from './settings.mjs';

const { origin, model, privateKey } = readSettings();
const poor = new VeniceClient(privateKey, { apiUrl: origin });
const refused = await refusalOf(() => poor.chat(chatBody(model)));
const tooLittle = await refusalOf(() => poor.topUp(1));
await poor.topUp(10);
const toppedUp = poor.balance;
const client = new VeniceClient(privateKey, { apiUrl: origin, autoTopUp: { enabled: true, amount: 10 } });
const answer = await client.chat(chatBody(model));
let streamed = '';
for await (const text of client.chatStream(chatBody(model))) streamed += text;
const balance = await client.getBalance();
const { transactions } = await client.getTransactions();
printResults({
  refused,
  tooLittle,
  toppedUp,
  choices: answer.choices.length,
  streamed: streamed.length > 0,
  balance: balance.balanceUsd,
  types: transactions.map(({ type }) => type),
});
