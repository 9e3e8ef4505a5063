/** Training text of the tiny tokenizers, enough for a few hundred merges. */
export const tinyCorpus = `
Once upon a time there was a small river that ran through a green valley. The river was happy because it had many
friends. Every day the birds came to drink, and the children came to play. One day the water said to the stones: you
are strong and you never move, and I am quick and I never stay. The stones said: then we are good friends, because you
tell us where you have been, and we tell you where you are.

The little girl opened the door and looked outside. It was raining. She wanted to go to the park, but her mother said
that they should wait until the sun came back. So they made tea, and they read a book about a big red boat that sailed
over the sea with a crew of cats. The cats were not good at sailing, but they were very good at sleeping in the sun.

A user asks a question and the assistant answers. The system tells the assistant how to answer. What is the capital of
a country? What is two plus two? Please write a short story about a dog. Sure, here is a story about a dog. Thank you
very much. You are welcome. Hello, how are you? I am fine, and how are you today? Count from one to ten: one, two,
three, four, five, six, seven, eight, nine, ten.

There were three houses on the hill. The first house was made of wood, the second house was made of stone, and the
third house was made of glass. In the morning the light went through the glass house and made all the colours of the
rainbow on the grass. People came from far away to see it, and nobody ever threw a stone.
`;
