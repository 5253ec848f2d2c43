// The emoji names that alert senders, people and the bot use; an unknown one stays `:name:`.

export const EMOJI = {
  arrow_heading_up: "⤴️", arrow_right: "➡️", bell: "🔔", books: "📚", book: "📖", bulb: "💡", calendar: "📅",
  chart_with_upwards_trend: "📈", clock3: "🕒", closed_lock_with_key: "🔐", eyes: "👀", exclamation: "❗", fire: "🔥",
  green_heart: "💚", hammer_and_wrench: "🛠️", heavy_check_mark: "✔️", hourglass_flowing_sand: "⏳",
  information_source: "ℹ️", large_blue_circle: "🔵", large_green_circle: "🟢", large_orange_circle: "🟠",
  large_yellow_circle: "🟡", link: "🔗", lock: "🔒", mag: "🔍", mag_right: "🔎", memo: "📝", no_bell: "🔕",
  no_entry: "⛔", notebook: "📓", open_book: "📖", page_facing_up: "📄", point_right: "👉", question: "❓", recycle: "♻️",
  red_circle: "🔴", rotating_light: "🚨", see_no_evil: "🙈", speech_balloon: "💬", spiral_note_pad: "🗒️",
  tada: "🎉", thinking_face: "🤔", thumbsdown: "👎", "+1": "👍", "-1": "👎", thumbsup: "👍", warning: "⚠️", wave: "👋",
  white_check_mark: "✅", white_circle: "⚪", wrench: "🔧", x: "❌", zap: "⚡",
};

export const emoji = (name) => EMOJI[name] ?? `:${name}:`;
