/** Text in which what stands between backticks is code. */
export const Prose = ({ text }: { readonly text: string }) =>
  text.split('`').map((part, index) =>
    index % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text keep their order
      <code key={index}>{part}</code>
    ) : (
      part
    ),
  );
