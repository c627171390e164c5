# ruff: noqa: RUF001  # letters that look alike belong to these languages
"""A sentence in each language that can be told."""

from __future__ import annotations

SENTENCES = {
    "en": "The river was higher than it had been for years.",
    "de": "Der Fluss war höher, als er seit Jahren gewesen ist.",
    "fr": "La rivière était plus haute que depuis des années.",
    "es": "El río estaba más alto de lo que había estado en años.",
    "pt": "O rio estava mais alto do que há muitos anos, e ninguém sabia por quê.",
    "it": "Il fiume era più alto di quanto non fosse stato da anni.",
    "nl": "De rivier stond hoger dan hij in jaren had gestaan.",
    "sv": "Floden stod högre än den hade gjort på många år, och det var inte bra.",
    "da": "Floden stod højere, end den havde gjort i mange år, og det var ikke godt.",
    "no": "Elven sto høyere enn den hadde gjort på mange år, og det var ikke bra for noen av dem.",
    "fi": "Joki oli korkeammalla kuin se oli ollut vuosiin, eikä se ollut hyvä.",
    "pl": "Rzeka była wyższa niż przez wiele lat i nie wiadomo było, co się stanie.",
    "cs": "Řeka byla vyšší, než byla po mnoho let, a nikdo nevěděl proč.",
    "ro": "Râul era mai înalt decât fusese de ani de zile și nu știa nimeni de ce.",
    "hu": "A folyó magasabb volt, mint évek óta bármikor, és ez nem volt jó.",
    "tr": "Nehir yıllardır olduğundan daha yüksekti ve bu hiç iyi değildi.",
    "id": "Sungai itu lebih tinggi dari tahun-tahun yang sudah lewat karena hujan, dan mereka bisa melihat bahwa itu tidak baik.",
    "vi": "Con sông đã cao hơn so với nhiều năm trước.",
    "ru": "Река была выше, чем она была за многие годы, и это не очень хорошо.",
    "uk": "Річка була вищою, ніж вона була за багато років, і це не дуже добре.",
    "bg": "Реката беше по-висока, отколкото е била от години, и това не е добре.",
    "el": "Ο ποταμός ήταν ψηλότερος από ό,τι ήταν εδώ και χρόνια.",
    "he": "הנהר היה גבוה יותר מאשר בשנים האחרונות.",
    "ar": "كان النهر أعلى مما كان عليه منذ سنوات.",
    "fa": "رودخانه از سال‌های گذشته بالاتر بود.",
    "hi": "नदी कई वर्षों की तुलना में ऊँची थी और यह अच्छा नहीं था।",
    "th": "แม่น้ำสูงกว่าที่เคยเป็นมาหลายปี",
    "ja": "川はここ何年もなかったほど高くなっていた。",
    "ko": "강은 몇 년 만에 가장 높았다.",
    "zh": "这条河比多年来都要高。",
}
