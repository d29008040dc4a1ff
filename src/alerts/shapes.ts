import { factsOf, type Telling, titleOf } from './telling.ts';

/** A telling in the forms that chats read. */

const MOST_TITLE = 150;
const MOST_TEXT = 2_900;

/** Slack reads these three as markup, and a link or a mention would be one. */
const plainForSlack = (text: string): string =>
  text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').slice(0, MOST_TEXT);

/** For an incoming webhook of Slack. */
export function slackMessage(telling: Telling) {
  const title = titleOf(telling);
  const text = plainForSlack(telling.data.summary);
  return {
    text: `${plainForSlack(title)}: ${text}`,
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: title.slice(0, MOST_TITLE), emoji: false } },
      { type: 'section', text: { type: 'mrkdwn', text } },
      {
        type: 'section',
        fields: factsOf(telling).map(([name, value]) => ({
          type: 'mrkdwn',
          text: `*${name}*\n${plainForSlack(value).slice(0, 1_900)}`,
        })),
      },
    ],
  };
}

/** Characters that Adaptive Cards read as Markdown. */
const plainForTeams = (text: string): string => text.replace(/[\\`*_[\]<>#|~]/g, '\\$&').slice(0, MOST_TEXT);

/** For a workflow of Teams that posts when a webhook request is received. */
export function teamsMessage(telling: Telling) {
  const block = (text: string, more: object = {}) => ({ type: 'TextBlock', text, wrap: true, ...more });
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            block(plainForTeams(titleOf(telling)), { size: 'Medium', weight: 'Bolder', style: 'heading' }),
            block(plainForTeams(telling.data.summary)),
            {
              type: 'FactSet',
              facts: factsOf(telling).map(([title, value]) => ({ title, value: plainForTeams(value) })),
            },
          ],
        },
      },
    ],
  };
}

/** The text of a mail. */
export const mailText = (telling: Telling): string =>
  [telling.data.summary, '', ...factsOf(telling).map(([name, value]) => `${name}: ${value}`), ''].join('\r\n');
