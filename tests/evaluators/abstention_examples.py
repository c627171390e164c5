# ruff: noqa: RUF001  # letters that look alike belong to these languages
"""Answers that decline, that cite, and that decline and claim: what the rules were tuned on.

What was held apart stands in `abstentions_apart`.
"""

from __future__ import annotations

QUESTION = "How much is a ticket?"
MUSEUM = ("The Harbour Museum opened in 1952 and holds 14,000 ship models. It is closed on Mondays.",)

ABSTENTIONS = (
    "The documents do not mention ticket prices.",
    "There is no information about ticket prices in the provided context.",
    "The passage does not say how much a ticket costs.",
    "I couldn't find ticket prices in the documents.",
    "I don't have information about ticket prices.",
    "Unfortunately, the provided text does not state the ticket price.",
    "The price is not stated.",
    "The answer cannot be determined from the context.",
    "It is unclear from the text how much a ticket costs.",
    "Ticket prices are not mentioned in the text.",
    "The documents do not contain any details on admission fees or discounts.",
    "Neither document gives an entrance fee.",
    "No price is mentioned anywhere in the passage.",
    "The context only partly answers this: ticket prices are not included in it.",
    "I'm afraid the sources don't tell what admission costs.",
    "It is impossible to say from the given passages what a ticket costs.",
    "Nothing in the context indicates the cost of admission.",
    "The ticket price is nowhere to be found in the documents.",
    "Based on the context, there is no mention of ticket prices. You may want to check the museum's website.",
    "I cannot determine the ticket price from the documents. Please contact the museum for current prices.",
    "The provided documents do not mention the price of a ticket, and they do not say whether children pay.",
    "Die Dokumente erwähnen keine Eintrittspreise.",
    "Der Preis einer Karte wird nicht genannt.",
    "Der Text enthält keine Angaben zu den Eintrittspreisen.",
    "Les documents ne mentionnent pas le prix des billets.",
    "Le prix n'est pas indiqué dans le texte.",
    "Los documentos no indican el precio de la entrada.",
    "El precio no se menciona en el texto.",
    "I documenti non riportano il prezzo del biglietto.",
    "Os documentos não mencionam o preço do bilhete.",
    "De documenten noemen geen toegangsprijzen.",
    "Dokumenty nie zawierają informacji o cenach biletów.",
    "В документах не упоминается цена билета.",
    "文档中没有提到门票价格。",
    "文書には入場料が記載されていません。",
    "Dokumen tersebut tidak menyebutkan harga tiket.",
    "लेख में टिकट की कीमत का उल्लेख नहीं है।",
    "নথিতে টিকিটের দাম উল্লেখ করা হয়নি।",
    "لا تذكر الوثائق سعر التذكرة.",
)
EVASIVE_CLAIMS = (
    "The documents do not mention ticket prices, but it costs 20 euros.",
    "The documents do not mention ticket prices; a ticket costs 20 euros.",
    "Ticket prices are not mentioned, although children enter free of charge on weekends.",
    "The documents do not mention ticket prices. Tickets are sold at the railway station.",
    "The documents do not mention the 20 euro ticket.",
    "While the price is not stated, visitors pay at the counter by credit card.",
    "I don't know the price and the museum was sold to a bank.",
    "The documents do not mention ticket prices, which rose sharply after the war.",
    "Die Dokumente nennen keine Preise, aber eine Karte kostet 20 Euro.",
    "Le texte ne mentionne pas le prix, mais un billet coûte 20 euros.",
)
CLAIMS = (
    "There is no information desk for tourists.",
    "The museum does not offer guided tours for schools.",
    "Photography is not allowed in the museum.",
    "Breakfast is not included for overnight visitors.",
    "The director could not find the stolen paintings.",
)
"""Sentences that deny, and claim."""
CITED = (
    "The Harbour Museum opened in 1952 (Doc 3, p. 12).",
    "The Harbour Museum opened in 1952【1†source】.",
    "The Harbour Museum opened in 1952 [Source 1](https://example.org/a).",
    "As stated in passage 2, the Harbour Museum opened in 1952.",
    "According to Source 4, it is closed on Mondays.",
    "It is closed on Mondays [doc2, page 7].",
    "It is closed on Mondays [cite: 3, 4].",
    "Document 5 states that the Harbour Museum holds 14,000 ship models.",
    "The museum is closed on Mondays (see source 2, section 4.1).",
    "It is closed on Mondays.\nSource: guide.pdf, page 3",
    "It is closed on Mondays.\n\nReferences:\n- [1] guide.pdf\n- [2] https://example.org/b",
    "It is closed on Mondays <sup>2</sup>.",
    "[2] It is closed on Mondays.",
    "It is closed on Mondays (Museum guide, p. 4).",
)
CITED_CLAIMS = (
    "The Harbour Museum opened in 1962 (Doc 3, p. 12).",
    "As stated in passage 2, the Harbour Museum holds 15,000 ship models.",
    "It is closed on Tuesdays【1†source】.",
    "Document 5 states that a ticket costs 12 euros.",
    "The Harbour Museum opened in 1952 (with 12 rooms).",
    "The museum has 300 documents and 12 sources of income.",
)
"""Sentences that cite, and claim what no context says."""
